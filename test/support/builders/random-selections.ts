import fc from 'fast-check';
import {
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  isAbstractType,
  isCompositeType,
  isUnionType,
} from 'graphql';
import { argumentsFor, type DrawnArgument, type Known, often, type Spelling } from './random-arguments.js';

/** `@skip` or `@include`. */
export interface DrawnCondition {
  readonly directive: 'include' | 'skip';
  readonly value: boolean;
  readonly spelling: Spelling;
}

/** A generated selection. Names of aliases, variables and fragments are assigned when it is printed. */
export type Drawn = { readonly conditions: readonly DrawnCondition[] } & (
  | {
      readonly kind: 'field';
      readonly name: string;
      readonly given: readonly DrawnArgument[];
      readonly isAliased: boolean;
      /** Null for a leaf field. */
      readonly selections: readonly Drawn[] | null;
    }
  | {
      readonly kind: 'inline';
      /** The type condition, or null. */
      readonly type: string | null;
      readonly selections: readonly Drawn[];
    }
  | {
      readonly kind: 'spread';
      readonly type: string;
      /** Whether to spread an existing fragment, if the type has one. */
      readonly isRepeated: boolean;
      readonly selections: readonly Drawn[];
    }
);

/** Random selections for a schema. */
export class RandomSelections {
  private readonly known = new Map<string, fc.Arbitrary<Drawn[]>>();

  /** @param changing coordinates of fields whose values change between two requests; they are never selected */
  constructor(
    private readonly schema: GraphQLSchema,
    private readonly values: Known,
    private readonly changing: readonly string[],
  ) {}

  /** @param depth levels of fields and fragments */
  of(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Drawn[]> {
    const key = `${type.name} ${depth}`;
    let drawn = this.known.get(key);
    if (drawn === undefined) {
      // Wide at the top and narrow below: most documents are as large as those of real clients.
      const maxLength = depth > 4 ? 3 : 2;
      drawn = fc.array(this.selection(type, depth), { minLength: 1, maxLength });
      this.known.set(key, drawn);
    }
    return drawn;
  }

  private selection(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Drawn> {
    const fields = isUnionType(type) ? [] : Object.values(type.getFields());
    const steady = fields.filter(({ name }) => !this.changing.includes(`${type.name}.${name}`));
    const [objects, leaves] = [steady.filter(hasFields), steady.filter((field) => !hasFields(field))];
    const kinds = [{ weight: 1, arbitrary: this.field({ name: '__typename', args: [] }, null) }];
    if (leaves.length > 0) {
      const each = leaves.map((field) => this.field(field, null));
      kinds.push({ weight: Math.min(leaves.length, 5), arbitrary: fc.oneof(...each) });
    }
    if (depth > 0) {
      const each = objects.map((field) => this.field(field, this.inside(field, depth - 1)));
      if (each.length > 0) kinds.push({ weight: Math.min(each.length, 4), arbitrary: fc.oneof(...each) });
      const weight = isAbstractType(type) ? 8 : 1;
      const on = this.typesWithin(type);
      kinds.push({ weight, arbitrary: fc.oneof(...on.map((each) => this.inline(each, depth - 1))) });
      kinds.push({ weight, arbitrary: fc.oneof(...on.map((each) => this.spread(each, depth - 1))) });
      if (!isUnionType(type)) kinds.push({ weight: 1, arbitrary: this.inline(type, depth - 1, null) });
    }
    return fc.oneof(...kinds);
  }

  private field(
    field: Pick<GraphQLField<unknown, unknown>, 'name' | 'args'>,
    selections: fc.Arbitrary<Drawn[]> | null,
  ): fc.Arbitrary<Drawn> {
    return fc.record({
      kind: fc.constant('field' as const),
      name: fc.constant(field.name),
      given: argumentsFor(field as GraphQLField<unknown, unknown>, this.values),
      isAliased: often(fc.constant(false), fc.constant(true), 3),
      selections: selections ?? fc.constant(null),
      conditions,
    });
  }

  private inline(
    type: GraphQLCompositeType,
    depth: number,
    condition: string | null = type.name,
  ): fc.Arbitrary<Drawn> {
    return fc.record({
      kind: fc.constant('inline' as const),
      type: fc.constant(condition),
      selections: this.of(type, depth),
      conditions,
    });
  }

  private spread(type: GraphQLCompositeType, depth: number): fc.Arbitrary<Drawn> {
    return fc.record({
      kind: fc.constant('spread' as const),
      type: fc.constant(type.name),
      isRepeated: fc.boolean(),
      selections: this.of(type, depth),
      conditions,
    });
  }

  private inside(field: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<Drawn[]> {
    const type = getNamedType(field.type);
    if (!isCompositeType(type)) throw new Error(`${field.name} is a leaf`);
    return this.of(type, depth);
  }

  /** Possible type conditions inside a type: the type itself, its possible types, and abstract types that it belongs to. */
  private typesWithin(type: GraphQLCompositeType): GraphQLCompositeType[] {
    if (isAbstractType(type)) return [type, ...this.schema.getPossibleTypes(type)];
    const abstract = Object.values(this.schema.getTypeMap()).filter(isAbstractType);
    return [type, ...abstract.filter((each) => this.schema.getPossibleTypes(each).includes(type))];
  }
}

const condition: fc.Arbitrary<DrawnCondition> = fc.record({
  directive: fc.constantFrom('include', 'skip'),
  value: fc.boolean(),
  spelling: fc.constantFrom<Spelling>('literal', 'variable', 'default'),
});

/** At most one of each kind, because these directives are not repeatable. */
const conditions = often(
  fc.constant<DrawnCondition[]>([]),
  fc.uniqueArray(condition, { minLength: 1, maxLength: 2, selector: ({ directive }) => directive }),
  6,
);

function hasFields({ type }: GraphQLField<unknown, unknown>): boolean {
  return isCompositeType(getNamedType(type));
}
