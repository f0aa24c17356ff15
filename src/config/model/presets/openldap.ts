import type { Preset } from './preset.js';

/** OpenLDAP with the schemas cosine, inetorgperson and that of this project (ldap/directory.schema). */
export const OPENLDAP: Preset = {
  recognition: { objectClass: /^OpenLDAProotDSE$/ },
  pushesChanges: true,
  hasAssertions: true,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: { base: 'ou=people', filter: '(objectClass=inetOrgPerson)', attributes: {}, disabled: null },
  groups: {
    base: 'ou=groups',
    filter: '(objectClass=groupOfNames)',
    attributes: {},
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [{ attributes: ['groupAdmin'], by: 'dn' }],
    owners: [{ attributes: ['owner'], by: 'dn' }],
    classes: ['groupOfNames', 'directoryGroup'],
  },
};
