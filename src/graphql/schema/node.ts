import { Field, ID, InterfaceType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { nodeIdOf, type NodeType } from '../../common/identity.js';

@InterfaceType({
  description: 'An object with an identity that does not change when the object is renamed.',
  resolveType: ({ nodeType }: Node) => nodeType,
})
export abstract class Node {
  /** Identity of the entry (RFC 4530); internal. */
  entryUuid!: string;

  abstract get nodeType(): NodeType;

  @InheritAccess()
  @Field(() => ID, {
    description:
      'Identifies the object among the objects of all types, independently of its id. Opaque. It stays the same when the object is renamed or moved.',
  })
  get nodeId(): string {
    return nodeIdOf(this.nodeType, this.entryUuid);
  }
}
