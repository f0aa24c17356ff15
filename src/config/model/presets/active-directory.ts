import type { Preset } from './preset.js';

/** Active Directory Domain Services, not Lightweight Directory Services ([MS-ADTS] 3.1.1.3.4.3.1). */
export const ACTIVE_DIRECTORY: Preset = {
  recognition: { supportedCapabilities: /^1\.2\.840\.113556\.1\.4\.800$/ },
  pushesChanges: false,
  limits:
    'In the LDAP policy of the domain (ntdsutil), raise MaxTempTableSize and MaxResultSetSize. MaxPageSize and MaxValRange need no change',
  counter: {
    changed: 'uSNChanged',
    latest: 'highestCommittedUSN',
    databases: null,
    // [MS-ADTS] 3.1.1.3.4.1.14, LDAP_SERVER_SHOW_DELETED_OID
    deleted: { filter: '(isDeleted=TRUE)', control: '1.2.840.113556.1.4.417' },
    // [MS-ADTS] 3.1.1.3.4.1.9, LDAP_SERVER_NOTIFICATION_OID
    notification: '1.2.840.113556.1.4.528',
  },
  uuid: 'objectGUID',
  createdAt: 'whenCreated',
  modifiedAt: 'whenChanged',
  users: {
    base: '',
    // Computers are users, too, but of another category ([MS-ADSC] 2.263).
    filter: '(&(objectCategory=person)(objectClass=user))',
    attributes: { id: ['sAMAccountName'], photo: ['thumbnailPhoto', 'jpegPhoto'] },
    // The bit ADS_UF_ACCOUNT_DISABLE ([MS-ADTS] 2.2.16).
    disabled: '(userAccountControl:1.2.840.113556.1.4.803:=2)',
    memberOf: ['primaryGroupID'],
  },
  groups: {
    base: '',
    filter: '(objectClass=group)',
    attributes: { id: ['sAMAccountName'], website: ['wWWHomePage'] },
    members: [{ attributes: ['member'], by: 'dn' }],
    admins: [],
    // A single value ([MS-ADA2] 2.48).
    owners: [{ attributes: ['managedBy'], by: 'dn', isSingle: true }],
    classes: ['group'],
    namingAttribute: 'cn',
  },
};
