import { type Finding, ok, problem, warning } from '../../common/finding.js';
import type { EntryMapping } from '../../config/model/mapping.js';
import type { DirectoryConfig, FileSourceConfig } from '../../config/settings/directory.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import type { EntryStatistics } from './entry-statistics.js';
import { MembershipForms } from './membership-forms.js';
import { ModelStatistics } from './model-statistics.js';
import { PROGRESS_INTERVAL, ReferenceStatistics } from './reference-statistics.js';
import { FileDirectory } from '../ldif/file-directory.js';
import { SourceError } from '../source.error.js';

/**
 * Reads a directory file completely, as the service does, and counts people and groups.
 * @param progress called at intervals with the number of entries that have been read
 * @param more what else is counted
 */
export async function checkFile(
  config: DirectoryConfig,
  source: FileSourceConfig,
  progress: (entries: number) => void,
  more: readonly EntryStatistics[] = [],
): Promise<Finding[]> {
  const what = 'directory file';
  const counts = { person: 0, group: 0 };
  const statistics = [
    new ReferenceStatistics(config),
    new ModelStatistics(config),
    new MembershipForms(config.mapping),
    ...more,
  ];
  try {
    for await (const page of new FileDirectory(config, source).scan())
      for (const { kind, entry } of page) {
        if (entry !== null) for (const each of statistics) each.add(kind, entry);
        counts[kind]++;
        const read = counts.person + counts.group;
        if (read % PROGRESS_INTERVAL === 0) progress(read);
      }
  } catch (error) {
    if (error instanceof LdifError || error instanceof SourceError)
      return [problem(what, `${source.file}: ${error.message}`)];
    throw error;
  }
  const { users, groups } = config.mapping;
  const none = ({ bases, filter }: EntryMapping) => `none below ${bases.join(' or ')} that ${filter} chooses`;
  return [
    ok(what, source.file),
    counts.person > 0
      ? ok('people', `${counts.person} below ${users.bases.join(' and ')}`)
      : problem('people', none(users)),
    counts.group > 0
      ? ok('groups', `${counts.group} below ${groups.bases.join(' and ')}`)
      : warning('groups', none(groups)),
    ...statistics.flatMap((each) => [...each.findings()]),
  ];
}
