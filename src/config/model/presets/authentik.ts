import type { Preset } from './preset.js';

/** The LDAP outpost of authentik (goauthentik.io). */
export const AUTHENTIK: Preset = {
  recognition: { vendorName: /^goauthentik\.io/i },
  pushesChanges: false,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: {
    base: 'ou=users',
    filter: '(objectClass=user)',
    attributes: { id: ['cn'], name: ['displayName', 'name', 'cn'] },
    disabled: '(ak-active=false)',
  },
  groups: {
    base: 'ou=groups',
    filter: '(objectClass=group)',
    attributes: {},
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [],
    owners: [],
    classes: ['group'],
  },
};
