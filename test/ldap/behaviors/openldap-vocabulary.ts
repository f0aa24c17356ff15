import { personDn, groupDn } from '../../support/builders/directory.js';
import { textOf, type Vocabulary } from './behavior-directory.js';
import { SUFFIX } from '../../support/servers/slapd.mjs';

const PEOPLE = `ou=people,${SUFFIX}`;

/** Entries of the standard classes inetOrgPerson and groupOfNames. */
export const standardVocabulary: Omit<Vocabulary, 'disable' | 'isActive'> = {
  ids: { user: 'uid', group: 'cn' },
  photo: 'jpegphoto',
  members: ['member'],
  personDn,
  groupDn,
  innerDn: `ou=inner,${PEOPLE}`,
  person(id, { photo }) {
    const lines = ['objectClass: inetOrgPerson', `uid: ${id}`, `cn: Person ${id}`, `sn: ${id}`];
    if (photo !== undefined) lines.push(`jpegPhoto:: ${photo.toString('base64')}`);
    return `dn: ${personDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  group(id, members) {
    const lines = ['objectClass: groupOfNames', `cn: ${id}`, ...members.map((dn) => `member: ${dn}`)];
    return `dn: ${groupDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  rename: (id, to) => `dn: ${personDn(id)}\nchangetype: modrdn\nnewrdn: uid=${to}\ndeleteoldrdn: 1\n`,
  queries: {
    users: { base: PEOPLE, filter: '(objectClass=inetOrgPerson)', attributes: ['*', 'nsAccountLock'] },
    groups: { base: `ou=groups,${SUFFIX}`, filter: '(objectClass=groupOfNames)' },
  },
};

const DISABLED = 'disabled';

/** OpenLDAP has no attribute for disabled accounts. */
export const DISABLING_MODEL = `users: {disabled: (employeeType=${DISABLED})}`;

export const openldapVocabulary: Vocabulary = {
  ...standardVocabulary,
  disable: (id) =>
    `dn: ${personDn(id)}\nchangetype: modify\nreplace: employeeType\nemployeeType: ${DISABLED}\n`,
  isActive: (user) => textOf(user, 'employeetype') !== DISABLED,
};
