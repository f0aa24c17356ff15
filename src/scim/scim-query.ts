import { type Kind, CORE, EXTENSIONS, KINDS } from './scim-schemas.js';
import { type ParsedFilter, parseFilter } from './scim-filter.js';
import { ScimError } from './scim-error.js';

/** The most resources of a page, and as many as a request without `count` gets: some clients read one page only. */
export const LARGEST_PAGE = 1000;

/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865). */
export interface ScimQuery {
  readonly filter: ParsedFilter | null;
  readonly filterText: string | null;
  readonly sortBy: string | null;
  readonly isDescending: boolean;
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
  /** Empty: the first page. Null: paging by `startIndex`. */
  readonly cursor: string | null;
  readonly shown: Selection;
}

/** The attributes that a request asks for, or leaves out (RFC 7644 §3.9). Without either, all are returned. */
export class Selection {
  constructor(
    private readonly paths: readonly (readonly string[])[],
    private readonly isExclusion: boolean,
  ) {}

  /** Whether anything of an attribute may be returned. */
  has(...path: string[]): boolean {
    const names = path.map((name) => name.toLowerCase());
    const agrees = (given: readonly string[]) =>
      names.every((name, index) => name === (given[index] ?? name));
    const isWhole = (given: readonly string[]) => given.length <= names.length && agrees(given);
    return this.isExclusion ? !this.paths.some(isWhole) : this.paths.some(agrees);
  }

  /** The selected parts of an object. */
  pick(object: object, paths = this.paths): Record<string, unknown> {
    const picked = Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
      const own = paths.filter(([first]) => first === name.toLowerCase());
      const isNamed = own.some(({ length }) => length === 1);
      if (this.isExclusion ? isNamed : own.length === 0) return [];
      if (own.length === 0 || isNamed || typeof value !== 'object' || value === null) return [[name, value]];
      const inner = own.map((path) => path.slice(1));
      const parts = Array.isArray(value)
        ? value.map((each: object) => this.pick(each, inner))
        : this.pick(value, inner);
      return [[name, parts]];
    });
    return Object.fromEntries(picked) as Record<string, unknown>;
  }
}

/** The path of an attribute, the URN of an extension first. */
function pathOf(name: string): string[] {
  const lower = name.trim().toLowerCase();
  const urn = EXTENSIONS.find((each) => `${lower}:`.startsWith(`${each.toLowerCase()}:`));
  if (urn !== undefined)
    return [urn.toLowerCase(), ...lower.slice(urn.length + 1).split('.')].filter((part) => part !== '');
  const core = KINDS.map((kind) => `${CORE}${kind}:`.toLowerCase()).find((each) => lower.startsWith(each));
  return lower.slice(core?.length ?? 0).split('.');
}

/** @param given the parameters of a URL, or the members of a body @throws ScimError */
export function readQuery(given: Readonly<Record<string, unknown>>): ScimQuery {
  const textOf = (name: string): string | null => {
    const value = given[name] ?? null;
    if (value === null || typeof value === 'string') return value;
    throw new ScimError('invalidSyntax', `${name} must be one text`);
  };
  const cursor = textOf('cursor');
  const wholeOf = (name: string, usual: number) => {
    const value = given[name] ?? usual;
    const isWhole = /^[-+]?\d{1,15}$/.test(String(value)) && typeof value !== 'object';
    if (isWhole) return Number(value);
    const type = name === 'count' && cursor !== null ? 'invalidCount' : 'invalidValue';
    throw new ScimError(type, `${name} must be a whole number`);
  };
  const pathsOf = (name: string) => {
    const value = given[name] ?? null;
    const names: unknown[] = Array.isArray(value) ? value : (textOf(name)?.split(',') ?? []);
    if (names.length > 200 || !names.every((each) => typeof each === 'string'))
      throw new ScimError('invalidSyntax', `${name} must be a list of at most 200 names`);
    const paths = names.filter((each) => each.trim() !== '').map(pathOf);
    return paths.length === 0 ? null : paths;
  };
  const [included, excluded] = [pathsOf('attributes'), pathsOf('excludedAttributes')];
  if (included !== null && excluded !== null)
    throw new ScimError('invalidValue', 'attributes and excludedAttributes exclude each other');
  const order = (textOf('sortOrder') ?? 'ascending').toLowerCase();
  if (!['ascending', 'descending'].includes(order))
    throw new ScimError('invalidValue', 'sortOrder must be ascending or descending');
  const filterText = textOf('filter') || null;
  const sortBy = textOf('sortBy') || null;
  return {
    ...{ filter: filterText === null ? null : parseFilter(filterText), filterText, sortBy, cursor },
    isDescending: sortBy !== null && order === 'descending',
    startIndex: Math.max(1, wholeOf('startIndex', 1)),
    count: Math.min(LARGEST_PAGE, Math.max(0, wholeOf('count', LARGEST_PAGE))),
    shown: new Selection(included ?? excluded ?? [], included === null),
  };
}
