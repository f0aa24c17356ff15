/** An attribute type that a directory publishes (RFC 4512 §4.1.2). */
export interface AttributeType {
  readonly name: string;
  /** The OID of the syntax. Null: it is not known. */
  readonly syntax: string | null;
  /** The name or OID of the rule by which values are equal. Null: it is not known. */
  readonly equality: string | null;
  /** Whether the server maintains the values. */
  readonly isOperational: boolean;
}

interface Description extends AttributeType {
  readonly names: readonly string[];
  readonly oid: string;
  readonly superior: string | null;
}

/** The usage of attributes that clients write. It is the default. */
const APPLICATIONS = 'userApplications';

/** The largest number of superior types that are followed. */
const DEEPEST = 20;

/**
 * Parses the values of attributeTypes in a subschema (pure). A value that is malformed is omitted.
 * @returns the types by each of their names and their OID, in lower case
 */
export function parseAttributeTypes(values: readonly string[]): Map<string, AttributeType> {
  const known = new Map<string, Description>();
  for (const value of values) {
    const parsed = parseDescription(value);
    for (const name of parsed === null ? [] : [...parsed.names, parsed.oid])
      known.set(name.toLowerCase(), { ...parsed, name } as Description);
  }
  return new Map(
    [...known].map(([key, type]) => {
      const [syntax, equality] = [inherited('syntax', type, known), inherited('equality', type, known)];
      return [key, { ...type, syntax, equality }];
    }),
  );
}

/** Names from the lines of an LDIF file, which has no types. */
export function namedTypes(names: Iterable<string>): Map<string, AttributeType> {
  return new Map(
    [...names].map(
      (name) => [name.toLowerCase(), { name, syntax: null, equality: null, isOperational: false }] as const,
    ),
  );
}

function parseDescription(value: string): Description | null {
  // Texts in quotes, such as DESC, can contain keywords.
  const text = value.replace(/\bDESC\s+'[^']*'/, '').slice(0, 10_000);
  const first = (pattern: RegExp) => pattern.exec(text)?.[1] ?? null;
  const oid = first(/^\(\s*([\w.-]+)/);
  if (oid === null) return null;
  const names = first(/\bNAME\s+\(?\s*((?:'[^']*'\s*)+)/) ?? '';
  const usage = first(/\bUSAGE\s+(\w+)/);
  return {
    oid,
    names: [...names.matchAll(/'([A-Za-z][A-Za-z0-9-]*)'/g)].map(([, name = '']) => name),
    name: oid,
    superior: first(/\bSUP\s+([\w.-]+)/),
    syntax: first(/\bSYNTAX\s+'?([\d.]+)/),
    equality: first(/\bEQUALITY\s+([\w.-]+)/),
    isOperational: (usage ?? APPLICATIONS) !== APPLICATIONS || text.includes('NO-USER-MODIFICATION'),
  };
}

function inherited(
  property: 'syntax' | 'equality',
  type: Description,
  known: ReadonlyMap<string, Description>,
): string | null {
  let current: Description | undefined = type;
  for (let depth = 0; current !== undefined && depth < DEEPEST; depth++) {
    if (current[property] !== null) return current[property];
    current = current.superior === null ? undefined : known.get(current.superior.toLowerCase());
  }
  return null;
}
