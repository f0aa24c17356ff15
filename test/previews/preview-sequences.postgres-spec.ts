import fc from 'fast-check';
import { ServiceError } from '../../src/common/errors.js';
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { validateChange } from '../../src/previews/values.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import { type Payload, sendPreviews } from '../support/clients/previews.js';
import { eventually } from '../support/eventually.js';
import { repetitions } from '../support/repetitions.js';
import { FollowedDirectory } from '../support/servers/ldap.js';

const SEQUENCES = repetitions({ usually: 8, long: 24 });
const PEOPLE = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
/** The first four exist at the beginning; the others can be created, and all can be deleted. */
const GROUPS = ['g0', 'g1', 'g2', 'g3', 'g4', 'g5', 'g6'];

/** The compared properties of roles: all but times. */
const ROLE = 'role { value direct inheritedFrom { id } }';

/** A previewed change with a name, which `ldapmodify` applies. */
interface Mutation {
  /** The mutation, with `$input` for its input. */
  readonly field: string;
  readonly input: Record<string, unknown>;
  /** The selection of the payload. */
  readonly payload: string;
}

interface Outcome {
  promised: unknown;
  answered: unknown;
  codes: string[];
}

/** The user whose name changes last, which shows that the mirror is up to date. */
const LAST_CHANGED = 'beacon';
/** A user who is a member of every group. */
const SENTINEL = 'sentinel';

/** Every group of the sentinel with all its members. */
const AROUND =
  `id givenName groups(first: 50) { totalCount nodes { ${ROLE} group { id name description website email ` +
  `members(first: 50) { totalCount nodes { ${ROLE} user { id name givenName familyName email schoolYear groups(first: 50) { totalCount nodes { group { id name } ${ROLE} } } } } } ` +
  'parents(first: 20) { totalCount nodes { id name } } subgroups(first: 20) { totalCount nodes { id name } } } } }';

/** Previews changes, applies them to the directory like its administrator, and reads the result from the mirror. */
class RoundTrip {
  private caughtUp = 0;
  private changes = 0;

  private constructor(
    readonly directory: FollowedDirectory,
    private readonly administrator: string,
  ) {}

  static async start(ldif: string): Promise<RoundTrip> {
    const watchers = [LAST_CHANGED, SENTINEL].map(
      (id) => `\ndn: ${personDn(id)}\nobjectClass: inetOrgPerson\nuid: ${id}\ncn: 0\nsn: 0\n`,
    );
    const directory = await FollowedDirectory.start(
      { ldif: ldif + watchers.join('') },
      {
        DIRECTORY_GUARD_PERCENT: '100',
        LIMIT_DEPTH: '20',
        LIMIT_ALIASES: '1000',
        LIMIT_DIRECTIVES: '1000',
        LIMIT_ROOT_FIELDS: '1000',
        LIMIT_TOKENS: '100000',
        LIMIT_BODY_BYTES: '10000000',
        LIMIT_NODES: '1000000',
      },
    );
    return new RoundTrip(directory, await directory.service.serviceAccount('read', 'directory', 'write'));
  }

  /** The payloads of several mutations in one operation, in order; null for rejected ones. */
  async preview(mutations: readonly Mutation[]) {
    const types = mutations.map(({ field }, index) => `$i${index}: ${inputType(field)}!`);
    const fields = mutations.map(
      ({ field, payload }, index) => `m${index}: ${field}(input: $i${index}) { preview { ldif } ${payload} }`,
    );
    const { data, errors } = await sendPreviews<Record<string, Payload | null>>(
      this.directory.service,
      `mutation (${types.join(', ')}) { ${fields.join(' ')} }`,
      {
        authorization: this.administrator,
        variables: Object.fromEntries(mutations.map(({ input }, index) => [`i${index}`, input])),
      },
    );
    const codes = errors.map(({ extensions, message }) => `${extensions.code} ${message}`);
    return { payloads: mutations.map((_, index) => data?.[`m${index}`] ?? null), codes };
  }

  /** The result code of the directory for LDIF: 0, or the code of the first rejected record. */
  async apply(...ldif: string[]): Promise<number> {
    const { code, stderr } = await this.directory.slapd.modify(ldif.join(''));
    this.lastOutput = stderr;
    return code;
  }

  /** The last output of ldapmodify. */
  lastOutput = '';

  /** Waits until the applied changes are visible. */
  async catchUp(): Promise<void> {
    const name = `Caught up ${++this.caughtUp}`;
    await this.directory.change(
      `dn: ${personDn(LAST_CHANGED)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`,
    );
    await eventually(
      async () =>
        (await this.read<{ name: string }>({ it: `user(user: {id: "${LAST_CHANGED}"}) { name }` }))['it']
          ?.name,
      name,
    );
  }

  /** Responses of the API, by name. */
  async read<Answer>(fields: Record<string, string>): Promise<Record<string, Answer | null>> {
    const selections = Object.entries(fields).map(([name, field]) => `${name}: ${field}`);
    const { data } = await this.directory.service.query<Record<string, Answer | null>>(
      `{ ${selections.join(' ')} }`,
      { authorization: this.administrator },
    );
    return data ?? {};
  }

  /**
   * Previews changes in one operation, applies those that are not rejected, and reads everything that the sentinel sees.
   * @returns the state at the end of the preview and the state of the API afterwards; the rejections with reasons
   */
  async perform(mutations: readonly Mutation[]): Promise<Outcome> {
    const last = {
      field: 'updateUser',
      input: { user: { id: SENTINEL }, givenName: `Change ${++this.changes}` },
      payload: `user { ${AROUND} }`,
    };
    const { payloads, codes } = await this.preview([...mutations, last]);
    const ldif = ldifOf(payloads);
    if ((await this.apply(ldif)) !== 0) throw new Error(`${this.lastOutput}\n${ldif}`);
    await this.catchUp();
    const { it } = await this.read({ it: `user(user: {id: "${SENTINEL}"}) { ${AROUND} }` });
    return { promised: payloads.at(-1)?.['user'], answered: it, codes };
  }

  stop(): Promise<void> {
    return this.directory.stop();
  }
}

/** `updateUser` has an `UpdateUserInput`. */
function inputType(field: string): string {
  return `${field.charAt(0).toUpperCase()}${field.slice(1)}Input`;
}

/** The LDIF of the payloads that are not null. */
function ldifOf(payloads: readonly (Payload | null)[]): string {
  return payloads.map((payload) => payload?.preview.ldif ?? '').join('');
}

/** Groups in a cycle, and one that references a user twice. */
const LDIF = buildLdif(
  PEOPLE.map((id) => ({ id })),
  [
    { id: 'g0', members: ['p0', '@g1', SENTINEL] },
    { id: 'g1', members: ['p1', 'p2', '@g2', SENTINEL], owners: ['p1'] },
    { id: 'g2', members: ['@g0', SENTINEL], admins: ['p3'] },
    { id: 'g3', members: ['p4', SENTINEL], owners: ['p5', '@g0'] },
    { id: 'everyone', members: [...PEOPLE, SENTINEL] },
  ],
);

const person = fc.constantFrom(...PEOPLE);
const group = fc.constantFrom(...GROUPS);
const role = fc.constantFrom('MEMBER', 'ADMIN', 'OWNER');
/** The naughty strings that are valid names. */
const NAMES = [...new Set(NAUGHTY_STRINGS.map((each) => each.trim()))].filter((name) => {
  try {
    return validateChange({ name }, GROUP_FIELDS);
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
});
const text = fc.oneof(fc.constantFrom('Anna', 'anna', 'Łukasz Żak', '-'), fc.constantFrom(...NAMES));

const mutation: fc.Arbitrary<Mutation[]> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(group, person, role).map(([id, user, as]) => [member('add', id, user, { role: as })]),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(group, person, role)
      .map(([id, user, as]) => [member('update', id, user, { role: as })]),
  },
  { weight: 2, arbitrary: fc.tuple(group, person).map(([id, user]) => [member('remove', id, user)]) },
  {
    weight: 3,
    arbitrary: fc.tuple(group, fc.option(group), text).map(([id, parent, name]) => [
      {
        field: 'createGroup',
        input: { id, name, ...(parent === null ? {} : { parent: { id: parent } }) },
        payload: 'group { id }',
      },
      member('add', id, SENTINEL),
    ]),
  },
  {
    weight: 1,
    arbitrary: group.map((id) => [
      { field: 'deleteGroup', input: { group: { id } }, payload: 'deletedGroupId' },
    ]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(group, text, fc.option(text))
      .map(([id, name, description]) => [
        { field: 'updateGroup', input: { group: { id }, name, description }, payload: 'group { id }' },
      ]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(person, text, fc.option(text))
      .map(([id, name, givenName]) => [
        { field: 'updateUser', input: { user: { id }, name, givenName }, payload: 'user { id }' },
      ]),
  },
);

function member(verb: 'add' | 'update' | 'remove', group: string, user: string, more: object = {}): Mutation {
  return {
    field: `${verb}GroupMember`,
    input: { group: { id: group }, user: { id: user }, ...more },
    payload: verb === 'remove' ? 'group { id }' : 'membership { role { value } }',
  };
}

/** Result codes (RFC 4511 §4.1.9, RFC 4528). */
const NO_SUCH_ATTRIBUTE = 16;
const ASSERTION_FAILED = 122;

describe('a sequence of previews', () => {
  let trip: RoundTrip;

  beforeAll(async () => {
    trip = await RoundTrip.start(LDIF);
  });

  afterAll(() => trip.stop());

  it('can have almost every naughty string as a name', () => {
    expect(NAMES.length).toBeGreaterThan(NAUGHTY_STRINGS.length * 0.9);
    expect(NAMES).toEqual(expect.arrayContaining(['undefined', 'null', '1E2', 'CON']));
  });

  it('shows the state after its records are applied, for random mutations', async () => {
    const seen = { made: 0, refused: 0 };
    // Each operation starts with the result of the one before: nothing is checked after a failure.
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 8, maxLength: 15 }), async (drawn) => {
        const mutations = drawn.flat();
        const { promised, answered, codes } = await trip.perform(mutations);
        expect(answered).toEqual(promised);
        expect(codes.filter((code) => !/^(CONFLICT|NOT_FOUND|BAD_USER_INPUT) /.test(code))).toEqual([]);
        seen.made += mutations.length - codes.length;
        seen.refused += codes.length;
      }),
      { numRuns: SEQUENCES, endOnFailure: true },
    );
    expect(seen.made).toBeGreaterThan(2 * SEQUENCES);
    expect(seen.refused).toBeGreaterThan(SEQUENCES / 2);
  });

  it('has records that the directory rejects if the old value has changed, or a value was added', async () => {
    const change = async (input: Record<string, unknown>) => {
      const of = { field: 'updateUser', input: { user: { id: 'p0' }, ...input }, payload: 'user { id }' };
      return ldifOf((await trip.preview([of])).payloads);
    };
    const [late, addition] = [
      await change({ familyName: 'King' }),
      await change({ email: 'late@example.org' }),
    ];
    expect(await trip.apply(await change({ familyName: 'Byron', email: 'early@example.org' }))).toBe(0);
    expect(await trip.apply(late)).toBe(NO_SUCH_ATTRIBUTE);
    expect(await trip.apply(addition)).toBe(ASSERTION_FAILED);
  });
});
