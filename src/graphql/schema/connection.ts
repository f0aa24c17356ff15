import type { Type } from '@nestjs/common';
import { ArgsType, Field, Int, ObjectType, registerEnumType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import type { PageArguments } from '../../common/page.js';
import type { Page } from '../../database/paging/page.js';

export enum OrderDirection {
  ASC = 'ASC',
  DESC = 'DESC',
}

registerEnumType(OrderDirection, {
  name: 'OrderDirection',
  description: 'Which end of an order comes first.',
  valuesMap: {
    ASC: { description: 'From A to Z, from few to many, from old to new.' },
    DESC: { description: 'From Z to A, from many to few, from new to old.' },
  },
});

/** The arguments of every connection. */
@ArgsType()
export class ConnectionArguments implements PageArguments {
  @Field(() => Int, {
    nullable: true,
    description: 'How many to give from the beginning, or after the cursor: 0 to 100. Either this or `last`.',
  })
  first?: number;

  @Field(() => String, { nullable: true, description: 'Gives what comes after this cursor.' })
  after?: string;

  @Field(() => Int, {
    nullable: true,
    description: 'How many to give from the end, or before the cursor: 0 to 100. Either this or `first`.',
  })
  last?: number;

  @Field(() => String, { nullable: true, description: 'Gives what comes before this cursor.' })
  before?: string;
}

@ObjectType({ description: 'Where a page lies within its connection.' })
export class PageInfo {
  @InheritAccess()
  @Field(() => Boolean, { description: 'Whether anything comes after this page.' })
  hasNextPage!: boolean;

  @InheritAccess()
  @Field(() => Boolean, { description: 'Whether anything comes before this page.' })
  hasPreviousPage!: boolean;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description: 'The cursor of the first on this page; null on an empty page.',
  })
  startCursor!: string | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'The cursor of the last on this page, to be given as `after` for the next one; null on an empty page.',
  })
  endCursor!: string | null;
}

/** An edge as resolvers return it. */
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

  /** Creates the connection of a page by mapping its rows to nodes. */
  static of<Row extends unknown[], Node>(page: Page<Row>, nodeOf: (row: Row) => Node): Connection<Node> {
    return new Connection(page.rows.map(nodeOf), page);
  }

  get totalCount(): number {
    return this.page.totalCount;
  }

  get edges(): Edge<Node>[] {
    return this.nodes.map((node, index) => new PlacedNode(node, this.page, index));
  }

  get pageInfo(): PageInfo {
    return new PlacedPage(this.page, this.nodes.length);
  }
}

// These are classes because V8 keeps an object literal with its own getters, and everything it references,
// until the next full garbage collection.

class PlacedNode<Node> implements Edge<Node> {
  constructor(
    readonly node: Node,
    private readonly page: Page<unknown[]>,
    private readonly index: number,
  ) {}

  get cursor(): string {
    return this.page.cursorAt(this.index) ?? '';
  }
}

class PlacedPage implements PageInfo {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;

  constructor(
    private readonly page: Page<unknown[]>,
    private readonly size: number,
  ) {
    this.hasNextPage = page.hasNextPage;
    this.hasPreviousPage = page.hasPreviousPage;
  }

  get startCursor(): string | null {
    return this.page.cursorAt(0);
  }

  get endCursor(): string | null {
    return this.page.cursorAt(this.size - 1);
  }
}

interface ConnectionDescriptions {
  readonly connection: string;
  readonly nodes: string;
  readonly edge: string;
  readonly node: string;
}

/** Declares the edge and connection types of a node type (Relay cursor connections specification). */
export function connectionTypes<Node extends object>(
  name: string,
  node: () => Type<Node> | object,
  descriptions: ConnectionDescriptions,
): { ConnectionType: Type<Connection<Node>> } {
  @ObjectType(`${name}Edge`, { description: descriptions.edge })
  class EdgeType {
    @InheritAccess()
    @Field(() => String, {
      description: 'Marks this place in the order: to be given as `after` or `before`.',
    })
    cursor!: string;

    @InheritAccess()
    @Field(node as () => Type<Node>, { description: descriptions.node })
    node!: Node;
  }

  @ObjectType(`${name}Connection`, { description: descriptions.connection })
  class ConnectionType {
    @InheritAccess()
    @Field(() => [node() as Type<Node>], { description: descriptions.nodes })
    nodes!: Node[];

    @InheritAccess()
    @Field(() => [EdgeType], { description: 'The same, each with its cursor.' })
    edges!: EdgeType[];

    @InheritAccess()
    @Field(() => PageInfo, { description: 'Where this page lies within the whole.' })
    pageInfo!: PageInfo;

    @InheritAccess()
    @Field(() => Int, {
      description: 'How many there are on all pages together. Counted only when selected.',
    })
    totalCount!: number;
  }

  return { ConnectionType: ConnectionType as unknown as Type<Connection<Node>> };
}
