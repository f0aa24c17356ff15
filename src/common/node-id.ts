/** Types of objects that have a node id. */
export const NODE_TYPES = ['User', 'Group', 'Profile'] as const;
export type NodeType = (typeof NODE_TYPES)[number];

export interface NodeIdentity {
  readonly type: NodeType;
  /** In the form of PostgreSQL: lower case, with hyphens. */
  readonly entryUuid: string;
}

const FORM = new RegExp(`^(${NODE_TYPES.join('|')}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`);
/** Length of the longest node id: three bytes are four characters. */
const LONGEST = 64;

/** The opaque identity of an object: its type and entryUUID. No other entry ever has it. */
export function nodeIdOf(type: NodeType, entryUuid: string): string {
  return Buffer.from(`${type}:${entryUuid}`).toString('base64url');
}

/** What a node id identifies. Null for every text that nodeIdOf does not return, other spellings of one included. */
export function parseNodeId(nodeId: string): NodeIdentity | null {
  if (nodeId.length > LONGEST) return null;
  const [, type, entryUuid] = FORM.exec(Buffer.from(nodeId, 'base64url').toString('latin1')) ?? [];
  if (type === undefined || entryUuid === undefined) return null;
  const identity = { type: type as NodeType, entryUuid };
  return nodeIdOf(identity.type, entryUuid) === nodeId ? identity : null;
}
