import { applyDecorators, type Type } from '@nestjs/common';
import {
  ArgsType,
  Field,
  type FieldOptions,
  InputType,
  Int,
  ObjectType,
  registerEnumType,
  type ReturnTypeFunc,
  ID,
  InterfaceType,
} from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import type { PageArguments } from '../../common/page.js';
import type { Page } from '../../database/paging/page.js';
import { nodeIdOf, type NodeType } from '../../common/identity.js';

/** A field for everyone who may read the object. */
export const Shown = (type: ReturnTypeFunc, description: string, options: FieldOptions = {}) =>
  applyDecorators(InheritAccess(), Field(type, { description, ...options }));

/** An enumeration of the schema, by the descriptions of its values. */
export function describedEnum<Value extends string>(
  name: string,
  description: string,
  descriptions: Readonly<Record<Value, string>>,
): { readonly [Each in Value]: Each } {
  const values = Object.entries<string>(descriptions);
  const valuesMap = Object.fromEntries(values.map(([value, text]) => [value, { description: text }]));
  const object = Object.fromEntries(values.map(([value]) => [value, value])) as { [Each in Value]: Each };
  registerEnumType<{ [Each in Value]: Each }>(object, { name, description, valuesMap: valuesMap as object });
  return object;
}

export const OrderDirection = describedEnum('OrderDirection', 'The sort direction.', {
  ASC: 'From A to Z, from few to many, from old to new.',
  DESC: 'From Z to A, from many to few, from new to old.',
});
export type OrderDirection = keyof typeof OrderDirection;

/** The input for the order of a list. If omitted, ascending by name. */
export function orderInput<Name extends string>(
  name: string,
  description: string,
  fields: { readonly [Each in Name]: Each },
): Type<{ field: Name; direction: OrderDirection }> {
  @InputType(name, { description })
  class Order {
    @Field(() => fields as object, { defaultValue: 'NAME', description: 'Sort field.' })
    field!: Name;

    @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Sort direction.' })
    direction!: OrderDirection;
  }
  return Order;
}

export const SEARCH_DESCRIPTION =
  'Words of the name, the id or another searchable field, 2 to 64 characters or one of Chinese, Japanese or Korean. All of them have to match, as in the field search.';

@ArgsType()
export class ConnectionArguments implements PageArguments {
  @Field(() => Int, {
    nullable: true,
    description:
      'The number of elements to return from the beginning or after the cursor: 0 to 100. Either this or `last` ' +
      'is required.',
  })
  first?: number;

  @Field(() => String, { nullable: true, description: 'Returns the elements after this cursor.' })
  after?: string;

  @Field(() => Int, {
    nullable: true,
    description:
      'The number of elements to return from the end or before the cursor: 0 to 100. Either this or `first` is ' +
      'required.',
  })
  last?: number;

  @Field(() => String, { nullable: true, description: 'Returns the elements before this cursor.' })
  before?: string;
}

@ObjectType({ description: 'The position of a page within its connection.' })
class PageInfo {
  @Shown(() => Boolean, 'Whether there are elements after this page.')
  hasNextPage!: boolean;

  @Shown(() => Boolean, 'Whether there are elements before this page.')
  hasPreviousPage!: boolean;

  @Shown(() => String, 'The cursor of the first element of this page. Null on an empty page.', {
    nullable: true,
  })
  startCursor!: string | null;

  @Shown(
    () => String,
    'The cursor of the last element of this page, for the argument `after` of the next page. Null on an empty page.',
    { nullable: true },
  )
  endCursor!: string | null;
}

export interface Edge<Node> {
  readonly cursor: string;
  readonly node: Node;
}

/** A connection as resolvers return it. Cursors are created only if they are selected. */
export class Connection<Node> {
  constructor(
    readonly nodes: readonly Node[],
    private readonly page: Page<unknown[]>,
  ) {}

  static of<Row extends unknown[], Node>(page: Page<Row>, nodeOf: (row: Row) => Node): Connection<Node> {
    return new Connection(page.rows.map(nodeOf), page);
  }

  get totalCount(): number {
    return this.page.totalCount;
  }

  get edges(): Edge<Node>[] {
    return this.nodes.map((node, index) => ({ node, cursor: this.page.cursorAt(index) ?? '' }));
  }

  get pageInfo(): PageInfo {
    const { hasNextPage, hasPreviousPage } = this.page;
    const [startCursor, endCursor] = [this.page.cursorAt(0), this.page.cursorAt(this.nodes.length - 1)];
    return { hasNextPage, hasPreviousPage, startCursor, endCursor };
  }
}

/** Declares the edge and connection types of a node type (Relay cursor connections specification). */
export function connectionTypes<Node extends object>(
  name: string,
  node: () => Type<Node> | object,
  descriptions: Readonly<Record<'connection' | 'nodes' | 'edge' | 'node', string>>,
): { ConnectionType: Type<Connection<Node>> } {
  const nodeType = node as () => Type<Node>;

  @ObjectType(`${name}Edge`, { description: descriptions.edge })
  class EdgeType {
    @Shown(() => String, 'The cursor of this element, for the arguments `after` and `before`.')
    cursor!: string;

    @Shown(nodeType, descriptions.node)
    node!: Node;
  }

  @ObjectType(`${name}Connection`, { description: descriptions.connection })
  class ConnectionType {
    @Shown(() => [nodeType()], descriptions.nodes)
    nodes!: Node[];

    @Shown(() => [EdgeType], 'The elements of this page, each with its cursor.')
    edges!: Edge<Node>[];

    @Shown(() => PageInfo, 'The position of this page within the connection.')
    pageInfo!: PageInfo;

    @Shown(() => Int, 'The number of elements on all pages. Computed only if selected.')
    totalCount!: number;
  }

  return { ConnectionType: ConnectionType as unknown as Type<Connection<Node>> };
}

@InterfaceType('Node', {
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
