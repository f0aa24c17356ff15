import { personDn } from '../../support/builders/directory.js';
import { textOf, type Vocabulary } from './behavior-directory.js';
import { standardVocabulary } from './standard-vocabulary.js';

const DISABLED = 'disabled';

/** OpenLDAP has no attribute for disabled accounts. */
export const DISABLING_MODEL = `users: {disabled: (employeeType=${DISABLED})}`;

export const openldapVocabulary: Vocabulary = {
  ...standardVocabulary,
  disable: (id) =>
    `dn: ${personDn(id)}\nchangetype: modify\nreplace: employeeType\nemployeeType: ${DISABLED}\n`,
  isActive: (user) => textOf(user, 'employeetype') !== DISABLED,
};
