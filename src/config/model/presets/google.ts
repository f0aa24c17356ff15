import type { Preset } from './preset.js';

/** Google Secure LDAP, which needs a client certificate. */
export const GOOGLE: Preset = {
  recognition: null,
  pushesChanges: false,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: { base: 'ou=Users', filter: '(objectClass=inetOrgPerson)', attributes: {}, disabled: null },
  groups: {
    base: 'ou=Groups',
    filter: '(objectClass=groupOfNames)',
    attributes: {},
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [],
    owners: [],
    classes: ['groupOfNames'],
  },
};
