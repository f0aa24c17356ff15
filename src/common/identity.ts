const NODE_TYPES = ['User', 'Group', 'Profile'] as const;
export type NodeType = (typeof NODE_TYPES)[number];

export type NodeIdentity = NonNullable<ReturnType<typeof parseNodeId>>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a value is a UUID in lower case with dashes, the form of PostgreSQL (RFC 9562 §4). */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

/**
 * The opaque identity of an object: its type and entryUUID. No other entry ever has it.
 * @param type a NodeType, or the type of previews of one, whose identities find no object
 */
export function nodeIdOf(type: string, entryUuid: string): string {
  return Buffer.from(`${type}:${entryUuid}`).toString('base64url');
}

/** What a node id identifies. Null for every text that nodeIdOf does not return, other spellings of one included. */
export function parseNodeId(nodeId: string) {
  const [name, entryUuid] = Buffer.from(nodeId, 'base64url').toString('latin1').split(':');
  const type = NODE_TYPES.find((each) => each === name);
  const isCanonical = type !== undefined && isUuid(entryUuid) && nodeIdOf(type, entryUuid) === nodeId;
  return isCanonical ? { type, entryUuid } : null;
}

/** How a client names an object: exactly one member has a value. */
export interface ObjectInput {
  readonly id?: string | null;
  readonly nodeId?: string | null;
  readonly email?: string | null;
}

export type LookupKey = keyof ObjectInput;

/** An object to look up. No object has the value null. */
export function lookupOf({ nodeType }: { readonly nodeType: NodeType }, input: ObjectInput) {
  const { id, nodeId, email } = input;
  if (typeof id === 'string') return { by: 'id', value: foldId(id) } as const;
  if (typeof email === 'string') return { by: 'email', value: foldAddress(email) } as const;
  const node = parseNodeId(nodeId ?? '');
  return { by: 'nodeId', value: node?.type === nodeType ? node.entryUuid : null } as const;
}

/**
 * Normalizes text, and converts each code point to lower case by its simple mapping (UnicodeData.txt), as LDAP servers
 * do. `toLowerCase` differs: it chooses a form of sigma by the letters around it, and converts `İ` to two code points.
 */
export function normalizeLowerCase(text: string, form: 'NFC' | 'NFKC'): string {
  return text.replaceAll('İ', 'i').normalize(form).replaceAll('Σ', 'σ').toLowerCase();
}

/** Maximum length of an id in code units. The mirror takes no longer id. */
export const LONGEST_ID = 256;
/** Matches no id: no folded text has a capital letter. */
const MATCHES_NO_ID = 'TOO LONG';

/**
 * Folds an id: LDAP compares `uid` and `cn` without case (RFC 4519). A text with NUL, which PostgreSQL rejects,
 * or longer than any id becomes one that matches no id.
 */
export function foldId(id: string): string {
  if (id.length > LONGEST_ID) return MATCHES_NO_ID;
  return normalizeLowerCase(id.toWellFormed(), 'NFC').replaceAll('\0', '\uFFFD');
}

/**
 * Folds an e-mail address: ASCII letters only, as the index of the mirror does. RFC 5321 §2.4 makes the domain
 * case-insensitive, and mail systems treat the local part alike.
 */
export function foldAddress(address: string): string {
  const folded = address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return folded.toWellFormed().replaceAll('\0', '\uFFFD');
}
