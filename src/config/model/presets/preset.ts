import type { RoleMapping } from '../mapping.js';
import type { ServerTraits } from './server-traits.js';

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
