import type { DirectoryMapping } from '../mapping.js';

/**
 * One kind of server: how it is recognized and followed, and the defaults of the model. Attributes that a preset does not name
 * are those of the tables of fields (src/users/user.fields.ts, src/groups/group.fields.ts), which are the names of the
 * standards.
 */
export interface Preset {
  /**
   * How the kind is recognized by the root DSE (RFC 4512 §5.1): of each attribute, one value matches. Null: by nothing, so that
   * only the key `server` of the model file selects it.
   */
  readonly recognition: Readonly<Record<string, RegExp>> | null;
  /** Whether content synchronization (RFC 4533) is complete. If not, it is used only with `follow: push` in the model file. */
  readonly pushesChanges: boolean;
  /** Whether a change can depend on an assertion (RFC 4528). Default: the server rejects the critical control. */
  readonly hasAssertions?: true;
  /** What to set where the server limits what the account may read. Null: the cure is that for OpenLDAP. */
  readonly limits: string | null;
  /** How the server numbers changes. Null: it does not. */
  readonly counter: ChangeCounter | null;
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  readonly modifiedAt: string;
  readonly users: EntryPreset & Pick<DirectoryMapping['users'], 'disabled' | 'memberOf'>;
  readonly groups: EntryPreset &
    Pick<
      DirectoryMapping['groups'],
      'members' | 'admins' | 'owners' | 'classes' | 'mayBeEmpty' | 'namingAttribute'
    >;
}

interface EntryPreset {
  /** Relative to the base DN. */
  readonly base: string;
  readonly filter: string;
  /** Attributes by the name of the field, where they differ from the table. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

/** A number that grows with each change of a server. */
export interface ChangeCounter {
  /** Attribute of an entry: the number of its last change. */
  readonly changed: string;
  /** Attribute of the root DSE: the latest number. With an option for each database, the server counts each of them. */
  readonly latest: string;
  /** Attribute of the root DSE: `name:suffix` of each database, whose names are the options of `latest`. Null: there is none. */
  readonly databases: string | null;
  /** The search for deleted entries: its filter, and the OID of a control without a value. */
  readonly deleted: { readonly filter: string; readonly control: string | null };
  /** OID of the control of a search that reports that something has changed. Null: there is none. */
  readonly notification: string | null;
}

const BY_DN = { attributes: ['member'], by: 'dn' } as const;

/** What most kinds have. */
const COMMON = {
  recognition: null,
  pushesChanges: false,
  limits: null,
  counter: null,
  uuid: 'entryUUID',
  modifiedAt: 'modifyTimestamp',
  users: { base: 'ou=people', filter: '(objectClass=person)', attributes: {}, disabled: null },
  groups: {
    base: 'ou=groups',
    filter: '(objectClass=groupOfNames)',
    attributes: {},
    members: [BY_DN],
    admins: [],
    owners: [],
    classes: ['groupOfNames'],
  },
} satisfies Preset;

/** OpenLDAP with the schemas cosine, inetorgperson and that of this project (ldap/directory.schema). */
const OPENLDAP: Preset = {
  ...COMMON,
  recognition: { objectClass: /^OpenLDAProotDSE$/ },
  pushesChanges: true,
  hasAssertions: true,
  users: { ...COMMON.users, filter: '(objectClass=inetOrgPerson)' },
  groups: {
    ...COMMON.groups,
    admins: [{ attributes: ['groupAdmin'], by: 'dn' }],
    owners: [{ attributes: ['owner'], by: 'dn' }],
    classes: ['groupOfNames', 'directoryGroup'],
  },
};

/** 389 Directory Server, also Red Hat Directory Server. */
const DIRECTORY_389: Preset = {
  ...COMMON,
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
  users: {
    ...COMMON.users,
    // The tools of the server create people without the standard class.
    filter: '(|(objectClass=inetOrgPerson)(objectClass=nsPerson))',
    disabled: '(nsAccountLock=TRUE)',
  },
  groups: {
    ...COMMON.groups,
    filter: '(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))',
    members: [{ attributes: ['member', 'uniqueMember'], by: 'dn' }],
    owners: [{ attributes: ['owner'], by: 'dn' }],
    mayBeEmpty: true,
  },
};

/** FreeIPA, which is 389 Directory Server with plugins. */
const FREEIPA: Preset = {
  ...DIRECTORY_389,
  recognition: { ...DIRECTORY_389.recognition, ipaTopologyPluginVersion: /./ },
  uuid: 'ipaUniqueID',
  users: { ...DIRECTORY_389.users, base: 'cn=users,cn=accounts', filter: '(objectClass=posixAccount)' },
  groups: {
    ...DIRECTORY_389.groups,
    base: 'cn=groups,cn=accounts',
    filter: '(objectClass=ipaUserGroup)',
    members: [BY_DN],
    admins: [{ attributes: ['memberManager'], by: 'dn' }],
    classes: ['groupOfNames', 'nestedGroup', 'ipaUserGroup'],
  },
};

/** lldap (github.com/lldap/lldap). */
const LLDAP: Preset = {
  ...COMMON,
  recognition: { vendorName: /^lldap/i },
  groups: {
    ...COMMON.groups,
    filter: '(objectClass=groupOfUniqueNames)',
    members: [{ attributes: ['uniqueMember'], by: 'dn' }],
    classes: ['groupOfUniqueNames'],
  },
};

/** The LDAP outpost of authentik (goauthentik.io). */
const AUTHENTIK: Preset = {
  ...COMMON,
  recognition: { vendorName: /^goauthentik\.io/i },
  users: {
    base: 'ou=users',
    filter: '(objectClass=user)',
    attributes: { id: ['cn'], name: ['displayName', 'name', 'cn'] },
    disabled: '(ak-active=false)',
  },
  groups: { ...COMMON.groups, filter: '(objectClass=group)', classes: ['group'] },
};

/** Kanidm (kanidm.com). */
const KANIDM: Preset = {
  ...COMMON,
  recognition: { vendorName: /^kanidm project/i },
  users: { ...COMMON.users, base: '', attributes: { id: ['uid'], name: ['displayName', 'cn'] } },
  groups: {
    ...COMMON.groups,
    base: '',
    filter: '(objectClass=group)',
    attributes: { id: ['cn'] },
    classes: ['group'],
  },
};

/** Google Secure LDAP, which needs a client certificate. */
const GOOGLE: Preset = {
  ...COMMON,
  users: { ...COMMON.users, base: 'ou=Users', filter: '(objectClass=inetOrgPerson)' },
  groups: { ...COMMON.groups, base: 'ou=Groups' },
};

/** Active Directory Domain Services, not Lightweight Directory Services ([MS-ADTS] 3.1.1.3.4.3.1). */
const ACTIVE_DIRECTORY: Preset = {
  ...COMMON,
  recognition: { supportedCapabilities: /^1\.2\.840\.113556\.1\.4\.800$/ },
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
  modifiedAt: 'whenChanged',
  users: {
    base: '',
    // Computers are users, too, but of another category ([MS-ADSC] 2.263).
    filter: '(&(objectCategory=person)(objectClass=user))',
    attributes: {
      id: ['sAMAccountName'],
      createdAt: ['whenCreated'],
      photo: ['thumbnailPhoto', 'jpegPhoto'],
    },
    // The bit ADS_UF_ACCOUNT_DISABLE ([MS-ADTS] 2.2.16).
    disabled: '(userAccountControl:1.2.840.113556.1.4.803:=2)',
    memberOf: ['primaryGroupID'],
  },
  groups: {
    ...COMMON.groups,
    base: '',
    filter: '(objectClass=group)',
    attributes: { id: ['sAMAccountName'], createdAt: ['whenCreated'], website: ['wWWHomePage'] },
    // A single value ([MS-ADA2] 2.48).
    owners: [{ attributes: ['managedBy'], by: 'dn', isSingle: true }],
    classes: ['group'],
    namingAttribute: 'cn',
  },
};

/**
 * The kinds of servers, by the name in the key `server` of the model file.
 * A server is of the first kind that recognizes it: FreeIPA is 389 Directory Server with a plugin, and servers of several
 * vendors publish the capabilities of Active Directory, which itself publishes no vendor.
 */
export const PRESETS = {
  openldap: OPENLDAP,
  freeipa: FREEIPA,
  '389ds': DIRECTORY_389,
  samba: { ...ACTIVE_DIRECTORY, recognition: { vendorName: /^samba team/i } },
  lldap: LLDAP,
  authentik: AUTHENTIK,
  kanidm: KANIDM,
  google: GOOGLE,
  'active-directory': ACTIVE_DIRECTORY,
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

export const DEFAULT_PRESET: PresetName = 'openldap';
