import { DIRECTORY_389 } from './directory-389.js';
import type { Preset } from './preset.js';

/** FreeIPA, which is 389 Directory Server with plugins. */
export const FREEIPA: Preset = {
  ...DIRECTORY_389,
  recognition: { vendorName: /^(389 project|red hat)/i, ipaTopologyPluginVersion: /./ },
  uuid: 'ipaUniqueID',
  users: { ...DIRECTORY_389.users, base: 'cn=users,cn=accounts', filter: '(objectClass=posixAccount)' },
  groups: {
    ...DIRECTORY_389.groups,
    base: 'cn=groups,cn=accounts',
    filter: '(objectClass=ipaUserGroup)',
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [{ attributes: ['memberManager'], by: 'dn' }],
    classes: ['groupOfNames', 'nestedGroup', 'ipaUserGroup'],
  },
};
