import type { Preset } from './preset.js';

/** 389 Directory Server, also Red Hat Directory Server. */
export const DIRECTORY_389: Preset = {
  recognition: { vendorName: /^(389 project|red hat)/i },
  // The identity in its messages is made of nsUniqueId, and some deletions are not reported.
  pushesChanges: false,
  limits:
    'In the entry of the account, set nsSizeLimit, nsTimeLimit, nsLookThroughLimit and nsPagedSizeLimit to -1 (unlimited)',
  counter: {
    changed: 'entryUSN',
    latest: 'lastusn',
    databases: 'nsBackendSuffix',
    deleted: { filter: '(objectClass=nsTombstone)', control: null },
    notification: null,
  },
  // Entries that are older than the plugin of entryUUID lack this attribute.
  uuid: 'nsUniqueId',
  modifiedAt: 'modifyTimestamp',
  users: {
    base: 'ou=people',
    // The tools of the server create people without the standard class.
    filter: '(|(objectClass=inetOrgPerson)(objectClass=nsPerson))',
    attributes: {},
    disabled: '(nsAccountLock=TRUE)',
  },
  groups: {
    base: 'ou=groups',
    filter: '(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))',
    attributes: {},
    members: [{ attributes: ['member', 'uniqueMember'], by: 'dn' }],
    admins: [],
    owners: [{ attributes: ['owner'], by: 'dn' }],
    classes: ['groupOfNames'],
    mayBeEmpty: true,
  },
};
