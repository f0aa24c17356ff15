import { groupDn, personDn } from './directory.js';

/** Change records (LDIF) for users and the members of groups. */

export const modify = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;

export const add = (id: string) =>
  `dn: ${personDn(id)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: ${id}\nsn: ${id}\n`;

export const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;

export const rename = (id: string, to: string) =>
  `dn: ${personDn(id)}\nchangetype: modrdn\nnewrdn: uid=${to}\ndeleteoldrdn: 1\n`;

export const join = (id: string, group = 'club') =>
  `dn: ${groupDn(group)}\nchangetype: modify\nadd: member\nmember: ${personDn(id)}\n`;

export const leave = (id: string, group = 'club') =>
  `dn: ${groupDn(group)}\nchangetype: modify\ndelete: member\nmember: ${personDn(id)}\n`;
