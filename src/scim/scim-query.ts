import { z } from 'zod';
import { type ParsedFilter, parseFilter } from './scim-filter.js';
import { CORE, EXTENSIONS } from './scim-schemas.js';
import { ScimError } from './scim-error.js';

/** The most resources of a page, and as many as a request without `count` gets: some clients read one page only. */
export const LARGEST_PAGE = 1000;

/** The path of an attribute in lower case, the URN of an extension first. */
function pathOf(name: string): string[] {
  const lower = name.trim().toLowerCase();
  const urn = EXTENSIONS.map((each) => each.toLowerCase()).find((each) => `${lower}:`.startsWith(`${each}:`));
  if (urn === undefined) return lower.replace(new RegExp(`^${CORE}(?:user|group):`, 'i'), '').split('.');
  return [urn, ...lower.slice(urn.length + 1).split('.')].filter((part) => part !== '');
}

/** The attributes that a request asks for, or leaves out (RFC 7644 §3.9). Without either, all are returned. */
export class Selection {
  private readonly paths: readonly string[][];

  constructor(
    names: readonly string[],
    private readonly isExclusion: boolean,
  ) {
    this.paths = names.map(pathOf).filter(([first]) => first !== '');
  }

  /** Whether an attribute, or a part of it, may be returned. */
  has(...path: string[]): boolean {
    const { isExclusion } = this;
    const isAbout = (given: readonly string[]) =>
      path.every((name, index) => name.toLowerCase() === (given[index] ?? name.toLowerCase()));
    return (
      isExclusion !==
      this.paths.some((given) => isAbout(given) && (!isExclusion || given.length <= path.length))
    );
  }

  /** The selected parts of an object. */
  pick(object: object, paths = this.paths): Record<string, unknown> {
    const picked = Object.entries(object).flatMap(([name, value]: [string, unknown]) => {
      const own = paths.filter(([first]) => first === name.toLowerCase());
      const isNamed = own.some(({ length }) => length === 1);
      if (this.isExclusion ? isNamed : own.length === 0) return [];
      if (isNamed || own.length === 0 || typeof value !== 'object' || value === null) return [[name, value]];
      const part = (each: object) =>
        this.pick(
          each,
          own.map((path) => path.slice(1)),
        );
      return [[name, Array.isArray(value) ? value.map(part) : part(value)]];
    });
    return Object.fromEntries(picked) as Record<string, unknown>;
  }
}

const WHOLE = z.union([z.int(), z.string().regex(/^[-+]?\d{1,15}$/)]).transform(Number);
const NAMES = z
  .union([z.string().transform((list) => list.split(',')), z.array(z.string())])
  .pipe(z.array(z.string()).max(200));
/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865). Without a cursor, lists are paged by `startIndex`. */
const PARAMETERS = z.object({
  ...{ filter: z.string().nullish(), sortBy: z.string().nullish(), cursor: z.string().nullish() },
  ...{
    sortOrder: z
      .string()
      .regex(/^(?:a|de)scending$/i)
      .nullish(),
    startIndex: WHOLE.nullish(),
    count: WHOLE.nullish(),
  },
  ...{ attributes: NAMES.nullish(), excludedAttributes: NAMES.nullish() },
});

export type ScimQuery = ReturnType<typeof readQuery>;

/** @param given the parameters of a URL, or the members of a body @throws ScimError */
export function readQuery(given: unknown) {
  const { data, error } = PARAMETERS.safeParse(given);
  if (error) {
    const [{ path: [name], message } = { path: ['query'], message: '' }] = error.issues;
    const isOfCursor = name === 'count' && typeof (given as { cursor?: unknown }).cursor === 'string';
    const isValue = name === 'startIndex' || name === 'count' || name === 'sortOrder';
    throw new ScimError(
      isOfCursor ? 'invalidCount' : isValue ? 'invalidValue' : 'invalidSyntax',
      `${String(name)}: ${message}`,
    );
  }
  const { filter, sortBy, sortOrder, startIndex, count, cursor, attributes, excludedAttributes } = data;
  if (attributes && excludedAttributes)
    throw new ScimError('invalidValue', 'attributes and excludedAttributes exclude each other');
  const parsed: ParsedFilter | null = filter ? parseFilter(filter) : null;
  return {
    ...{ filter: parsed, filterText: filter || null, sortBy: sortBy || null, cursor: cursor ?? null },
    isDescending: Boolean(sortBy) && sortOrder?.toLowerCase() === 'descending',
    startIndex: Math.max(1, startIndex ?? 1),
    count: Math.min(LARGEST_PAGE, Math.max(0, count ?? LARGEST_PAGE)),
    shown: new Selection(
      attributes ?? excludedAttributes ?? [],
      !attributes?.some((name) => name.trim() !== ''),
    ),
  };
}
