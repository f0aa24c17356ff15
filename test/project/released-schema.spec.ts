import { readFileSync } from 'node:fs';
import { buildSchema } from 'graphql';
import { explainBreaks, findBreaks } from '../support/builders/breaking-changes.js';

const released = readFileSync('released/schema.graphql', 'utf8');
const [, releasedVersion = ''] = /^# (.+)\n/.exec(released) ?? [];

describe('the schema', () => {
  it('breaks no client of the released one', async () => {
    const current = buildSchema(readFileSync('schema.graphql', 'utf8'));
    const breaks = await findBreaks(buildSchema(released), current, new Date());
    // Said, and not compared: what to do about it belongs to it.
    if (breaks.length > 0) throw new Error(explainBreaks(breaks, releasedVersion));
  });

  it('is released with the version of the package (npm run release:schema)', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(releasedVersion).toBe(version);
  });
});

const SCHEMA = `
  type Query { user(id: ID, size: Int = 1): User, group(id: ID!): Group, kind: Kind, found: Found }
  type User { name: String!, email: String, old: Old }
  type Old { name: String }
  type Group { name: String }
  union Found = User | Group
  enum Kind { ONE OTHER }
  input In { part: Int }
`;
const TODAY = new Date('2026-11-21T00:00:00Z');

/** What breaks when one text of the schema above is put in the place of another. */
function breaksOf(before: string, after: string, schema = SCHEMA): Promise<string[]> {
  if (!schema.includes(before)) throw new Error(`There is no ${before}`);
  return findBreaks(buildSchema(schema), buildSchema(schema.replace(before, after)), TODAY);
}

describe('a change of the schema breaks clients', () => {
  it.each([
    ['that takes a field away', 'email: String,', '', "Field 'email' was removed"],
    ['that takes an argument away', ', size: Int = 1', '', "Argument 'size: Int' was removed"],
    ['that takes a value away', 'OTHER', '', "Enum value 'OTHER' was removed"],
    ['that takes a type away', ', old: Old }\n  type Old { name: String }', '}', "Type 'Old' was removed"],
    ['that takes a member of a union away', 'User | Group', 'User', "Member 'Group' was removed"],
    ['that takes less of an argument', 'id: ID,', 'id: ID!,', "Type for argument 'id'"],
    ['that asks for one more argument', 'id: ID,', 'id: ID, way: Int!,', "Argument 'way: Int!' added"],
    ['that lets a field be null', 'name: String!,', 'name: String,', "Field 'User.name' changed type"],
    ['that changes what is meant when nothing is said', 'size: Int = 1', 'size: Int = 2', 'Default value'],
  ])('%s', async (_name, before, after, message) => {
    expect((await breaksOf(before, after)).join('\n')).toContain(message);
  });

  it.each([
    ['that adds a field', 'email: String,', 'email: String, phone: String,'],
    ['that adds an argument nobody has to give', 'id: ID,', 'id: ID, way: Int,'],
    ['that adds a value', 'OTHER', 'OTHER THIRD'],
    ['that no longer asks for an argument', 'group(id: ID!)', 'group(id: ID)'],
    ['that promises a field', 'email: String,', 'email: String!,'],
    ['that says more', 'email: String,', '"Where to write to." email: String,'],
  ])('but not one %s', async (_name, before, after) => {
    expect(await breaksOf(before, after)).toEqual([]);
  });
});

describe('what was deprecated', () => {
  const deprecated = (since: string, sunset: string) =>
    SCHEMA.replace(
      'old: Old }',
      `old: Old @deprecated(reason: "Use name. Deprecated since ${since}, gone from ${sunset}.") }`,
    );
  const removal = (schema: string) => {
    const gone = SCHEMA.replace(', old: Old }', '}').replace('type Old { name: String }', '');
    return findBreaks(buildSchema(schema), buildSchema(gone), TODAY);
  };

  it('may be gone when its time has come, with the type that only it led to', async () => {
    expect(await removal(deprecated('2026-05-21', '2026-11-21'))).toEqual([]);
  });

  it.each([
    ['before the day that it was told for', deprecated('2026-05-21', '2026-11-22')],
    ['within half a year', deprecated('2026-05-22', '2026-11-21')],
    ['without a day', SCHEMA.replace('old: Old }', 'old: Old @deprecated }')],
  ])('may not %s', async (_name, schema) => {
    expect((await removal(schema)).join('\n')).toContain("Field 'old' ");
  });
});

describe('the explanation', () => {
  it('says what broke, of which release, and what to do', () => {
    const text = explainBreaks(["Field 'email' was removed"], '1.2.0');
    expect(text).toMatch(
      /clients of 1\.2\.0 .*\n {2}Field 'email' was removed\n.*deprecated first,\n.*6 months/,
    );
    expect(explainBreaks([], '1.2.0')).toBe('');
  });
});
