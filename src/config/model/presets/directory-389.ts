import type { Preset } from './preset.js';

/** 389 Directory Server, also Red Hat Directory Server. */
export const DIRECTORY_389: Preset = {
  recognition: { vendorName: /^(389 project|red hat)/i },
  // The identity in its messages is made of nsUniqueId, and some deletions are not reported.
  pushesChanges: false,
  counter: {
    changed: 'entryUSN',
    latest: 'lastusn',
    origin: null,
    deleted: { filter: '(objectClass=nsTombstone)', control: null },
    notification: null,
  },
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: {
    base: 'ou=people',
    filter: '(objectClass=inetOrgPerson)',
    attributes: {},
    disabled: '(nsAccountLock=TRUE)',
  },
  groups: {
    base: 'ou=groups',
    filter: '(objectClass=groupOfNames)',
    attributes: {},
    members: { attributes: ['member'], by: 'dn' },
    admins: { attributes: [], by: 'dn' },
    owners: { attributes: ['owner'], by: 'dn' },
    classes: ['groupOfNames'],
  },
};
