import { foldAddress, foldId } from './fold.js';
import { type NodeType, parseNodeId } from './node-id.js';

/** How a client names an object: exactly one member has a value. */
export interface ObjectInput {
  readonly id?: string | null;
  readonly nodeId?: string | null;
  readonly email?: string | null;
}

/** The identity by which an object is looked up. */
export type LookupKey = 'id' | 'nodeId' | 'email';

/** An object to look up. No object has the value null. */
export interface ObjectLookup {
  readonly by: LookupKey;
  readonly value: string | null;
}

export function lookupOf({ nodeType }: { readonly nodeType: NodeType }, input: ObjectInput): ObjectLookup {
  const { id, nodeId, email } = input;
  if (typeof id === 'string') return { by: 'id', value: foldId(id) };
  if (typeof email === 'string') return { by: 'email', value: foldAddress(email) };
  const node = parseNodeId(nodeId ?? '');
  return { by: 'nodeId', value: node?.type === nodeType ? node.entryUuid : null };
}
