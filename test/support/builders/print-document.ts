import {
  getNullableType,
  GraphQLBoolean,
  type GraphQLInputType,
  GraphQLNonNull,
  isInputObjectType,
  isNonNullType,
} from 'graphql';
import {
  type DrawnArgument,
  literalOf,
  objectLiteral,
  type Spelling,
  SPELLINGS,
} from './random-arguments.js';
import type { Drawn, DrawnCondition } from './random-selections.js';

/** Names that can be confused with others: members of JavaScript objects, fields, thenables. */
const ALIASES = ['a', 'constructor', 'id', 'then', 'toString', 'name', 'toJSON', 'nodes', 'length', '__a'];

/** What a definition of a document needs from other definitions. */
interface Needs {
  readonly variables: Set<string>;
  readonly fragments: Set<string>;
}

/**
 * Prints random operations as one valid document. Duplicate selections merge: a response key stands for the same field with the
 * same arguments in the whole document.
 */
export class DocumentPrinter {
  /** Values of the variables of the request. */
  readonly variables: Record<string, unknown> = {};
  private readonly declarations = new Map<string, string>();
  private readonly names = new Map<string, string>();
  private readonly keys = new Map<string, string>();
  private readonly takenKeys = new Set<string>();
  private spelled = 0;
  private readonly fragments = new Map<string, { type: string; text: string; needs: Needs }>();

  /** @param rotation index of the first alias */
  constructor(private readonly rotation: number) {}

  /** @param names the name of each operation; null: anonymous */
  print(operations: readonly (readonly Drawn[])[], names: readonly (string | null)[]): string {
    const printed = operations.map((selections, index) => {
      const needs: Needs = { variables: new Set(), fragments: new Set() };
      const text = this.selectionSet(selections, needs);
      const declared = [...this.variablesOf(needs)].map((name) => this.declarations.get(name)).join(', ');
      const name = names[index] ?? '';
      return `query ${name}${declared === '' ? '' : `(${declared})`} ${text}`;
    });
    const fragments = [...this.fragments].map(
      ([name, { type, text }]) => `fragment ${name} on ${type} ${text}`,
    );
    return [...printed, ...fragments].join('\n');
  }

  private variablesOf({ variables, fragments }: Needs): Set<string> {
    const all = new Set(variables);
    for (const name of fragments) {
      const fragment = this.fragments.get(name);
      if (fragment === undefined) continue;
      for (const variable of this.variablesOf(fragment.needs)) all.add(variable);
    }
    return all;
  }

  private selectionSet(selections: readonly Drawn[], needs: Needs): string {
    return `{ ${selections.map((each) => this.selection(each, needs)).join(' ')} }`;
  }

  private selection(drawn: Drawn, needs: Needs): string {
    const directives = drawn.conditions.map((each) => this.condition(each, needs)).join('');
    if (drawn.kind === 'field') {
      const given = drawn.given.map((each) => this.argument(each, needs)).join(', ');
      const call = `${drawn.name}${given === '' ? '' : `(${given})`}`;
      const key = this.keyOf(drawn.name, call, drawn.isAliased);
      const inside = drawn.selections === null ? '' : ` ${this.selectionSet(drawn.selections, needs)}`;
      return `${key === drawn.name ? '' : `${key}: `}${call}${directives}${inside}`;
    }
    if (drawn.kind === 'inline') {
      const type = drawn.type === null ? '' : ` on ${drawn.type}`;
      return `...${type}${directives} ${this.selectionSet(drawn.selections, needs)}`;
    }
    const name = this.fragmentFor(drawn);
    needs.fragments.add(name);
    return `...${name}${directives}`;
  }

  /** Only complete fragments are spread again, so that no fragment contains itself. */
  private fragmentFor({ type, isRepeated, selections }: Extract<Drawn, { kind: 'spread' }>): string {
    const known = [...this.fragments].find(([, fragment]) => fragment.type === type);
    if (isRepeated && known !== undefined) return known[0];
    const needs: Needs = { variables: new Set(), fragments: new Set() };
    const text = this.selectionSet(selections, needs);
    const name = `F${this.fragments.size}`;
    this.fragments.set(name, { type, text, needs });
    return name;
  }

  private keyOf(field: string, call: string, isAliased: boolean): string {
    const selected = `${isAliased ? 'alias' : ''} ${call}`;
    let key = this.keys.get(selected);
    if (key === undefined) {
      key = isAliased || this.takenKeys.has(field) ? this.nextAlias() : field;
      this.takenKeys.add(key);
      this.keys.set(selected, key);
    }
    return key;
  }

  private nextAlias(): string {
    for (let index = this.rotation; index < this.rotation + ALIASES.length; index++) {
      const alias = ALIASES[index % ALIASES.length];
      if (alias !== undefined && !this.takenKeys.has(alias)) return alias;
    }
    return `a${this.takenKeys.size}`;
  }

  private condition({ directive, value, spelling }: DrawnCondition, needs: Needs): string {
    return ` @${directive}(if: ${this.value(value, new GraphQLNonNull(GraphQLBoolean), spelling, needs)})`;
  }

  private argument({ name, type, value, spelling }: DrawnArgument, needs: Needs): string {
    return `${name}: ${this.value(value, type, spelling, needs)}`;
  }

  private value(value: unknown, type: GraphQLInputType, spelling: Spelling, needs: Needs): string {
    if (spelling === 'literal') return literalOf(value, type);
    const nullable = getNullableType<GraphQLInputType>(type);
    if (spelling === 'inside' && isInputObjectType(nullable)) {
      return objectLiteral(nullable, value as Record<string, unknown>, (each, of) =>
        this.value(each, of, this.nextSpelling(), needs),
      );
    }
    if (spelling === 'left out' && !isNonNullType(type)) return this.variable(String(type), undefined, needs);
    if (spelling === 'variable' || spelling === 'inside') return this.variable(String(type), value, needs);
    const declaration = `${String(nullable)} = ${literalOf(value, type)}`;
    // Null is not valid for a non-null type, regardless of its default.
    return this.variable(
      declaration,
      spelling === 'nulled' && !isNonNullType(type) ? null : undefined,
      needs,
    );
  }

  /** Member values of an object in sequence. */
  private nextSpelling(): Spelling {
    return SPELLINGS[this.spelled++ % SPELLINGS.length] ?? 'literal';
  }

  /** @param value undefined: no value is sent */
  private variable(declaration: string, value: unknown, needs: Needs): string {
    const described = `${declaration} ${JSON.stringify(value)}`;
    let name = this.names.get(described);
    if (name === undefined) {
      name = `v${this.names.size}`;
      this.names.set(described, name);
      this.declarations.set(name, `$${name}: ${declaration}`);
      if (value !== undefined) this.variables[name] = value;
    }
    needs.variables.add(name);
    return `$${name}`;
  }
}
