import type { RoleMapping } from '../mapping.js';

/**
 * One kind of server: how it is recognized and followed, and the defaults of the model. Attributes that a preset does not name
 * are those of the tables of fields (src/users/user.fields.ts, src/groups/group.fields.ts), which are the names of the
 * standards.
 */
export interface Preset extends ServerTraits {
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  /** Attribute of the creation time. Default: createTimestamp. */
  readonly createdAt?: string;
  readonly modifiedAt: string;
  readonly users: EntryPreset & {
    /** Filter for users that are not active. Null: all users are active. */
    readonly disabled: string | null;
    /** See DirectoryMapping. Default: none. */
    readonly memberOf?: readonly string[];
  };
  readonly groups: EntryPreset & {
    readonly members: RoleMapping;
    readonly admins: RoleMapping;
    readonly owners: RoleMapping;
    /** Object classes of a new group. */
    readonly classes: readonly string[];
    /** Whether groups can be empty, although RFC 4519 requires a member for their classes. Default: they cannot. */
    readonly mayBeEmpty?: true;
    /** Attribute in the relative DN of a new group. Default: that of the id. */
    readonly namingAttribute?: string;
  };
}

interface EntryPreset {
  /** Relative to the base DN. */
  readonly base: string;
  readonly filter: string;
  /** Attributes by the name of the field, where they differ from the table. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

/** What distinguishes a kind of server, besides the names of its attributes. */
export interface ServerTraits {
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
