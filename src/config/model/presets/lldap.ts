import type { Preset } from './preset.js';

/** lldap (github.com/lldap/lldap). */
export const LLDAP: Preset = {
  recognition: { vendorName: /^lldap/i },
  pushesChanges: false,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: { base: 'ou=people', filter: '(objectClass=person)', attributes: {}, disabled: null },
  groups: {
    base: 'ou=groups',
    filter: '(objectClass=groupOfUniqueNames)',
    attributes: {},
    members: [{ attributes: ['uniqueMember'], by: 'dn' }],
    admins: [],
    owners: [],
    classes: ['groupOfUniqueNames'],
  },
};
