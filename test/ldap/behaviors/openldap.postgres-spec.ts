import { personDn } from '../../support/builders/directory.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { directorySettings } from '../../support/servers/ldap.js';
import { startSlapd } from '../../support/servers/slapd.mjs';
import { textOf, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { standardVocabulary } from './standard-vocabulary.js';

const DISABLED = 'disabled';

const vocabulary: Vocabulary = {
  ...standardVocabulary,
  disable: (id) =>
    `dn: ${personDn(id)}\nchangetype: modify\nreplace: employeeType\nemployeeType: ${DISABLED}\n`,
  isActive: (user) => textOf(user, 'employeetype') !== DISABLED,
};

describe('OpenLDAP', () => {
  describeBehaviors(async () => {
    const server = await startSlapd({});
    const model = `users: {disabled: (employeeType=${DISABLED})}`;
    return {
      server,
      vocabulary,
      showsLag: true,
      settings: { ...directorySettings(server), ...modelSetting(model) },
    };
  });
});
