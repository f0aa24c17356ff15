import { modelSetting } from '../../support/builders/model-file.js';
import { directorySettings } from '../../support/servers/ldap.js';
import { startSlapd } from '../../support/servers/slapd.mjs';
import { OldCopy } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';

describe('OpenLDAP', () => {
  describeBehaviors(async () => {
    const server = await startSlapd({});
    return {
      server,
      vocabulary: openldapVocabulary,
      showsLag: true,
      lag: OldCopy.lagOf(server),
      settings: { ...directorySettings(server), ...modelSetting(DISABLING_MODEL) },
    };
  });
});
