import type { EntityManager } from 'typeorm';
import type { PresetName } from '../../config/model/presets/presets.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { MirrorState } from '../status/mirror-state.js';
import type { RunReporter } from '../sync/run-reporter.js';
import type { Synchronizer } from '../sync/synchronizer.js';

export interface FollowDependencies {
  readonly config: DirectoryConfig;
  readonly directory: LdapDirectory;
  readonly manager: EntityManager;
  readonly synchronizer: Synchronizer;
  readonly state: MirrorState;
  readonly reporter: RunReporter;
  /** The server is of another kind than the one whose preset applies. */
  readonly onOtherServer: (kind: PresetName) => void;
}
