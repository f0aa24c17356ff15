/** What a node id can stand for. */
export type NodeType = 'User' | 'Group';

/**
 * The identity of an object of the API, made of its type and its entryUUID: unlike an id of the directory it never changes,
 * and it is never given to another entry. Opaque to clients.
 */
export function nodeIdOf(type: NodeType, entryUuid: string): string {
  return Buffer.from(`${type}:${entryUuid}`).toString('base64url');
}
