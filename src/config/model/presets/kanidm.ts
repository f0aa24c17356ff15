import type { Preset } from './preset.js';

/** Kanidm (kanidm.com). */
export const KANIDM: Preset = {
  recognition: { vendorName: /^kanidm project/i },
  pushesChanges: false,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: {
    base: '',
    filter: '(objectClass=person)',
    attributes: { id: ['uid'], name: ['displayName', 'cn'] },
    disabled: null,
  },
  groups: {
    base: '',
    filter: '(objectClass=group)',
    attributes: { id: ['cn'] },
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [],
    owners: [],
    classes: ['group'],
  },
};
