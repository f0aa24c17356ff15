/** Types of objects that have a node id. */
export type NodeType = 'User' | 'Group';

/**
 * Returns the identity of an object of the API, which consists of its type and its entryUUID. Unlike an id of
 * the directory, it never changes and no other entry ever has it. It is opaque to clients.
 */
export function nodeIdOf(type: NodeType, entryUuid: string): string {
  return Buffer.from(`${type}:${entryUuid}`).toString('base64url');
}
