import { ServiceError } from '../../src/common/errors.js';
import type { UpdateGroupInput, UpdateUserInput } from '../../src/previews/mutations.model.js';
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { validateChange } from '../../src/previews/values.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { buildLdif } from '../support/builders/directory.js';
import { NAUGHTY_STRINGS } from '../support/builders/naughty-strings.js';
import type { Payload } from '../support/clients/previews.js';
import { GROUP, ldifOf, type Mutation, RoundTrip, USER } from '../support/clients/round-trip.js';
import { repetitions } from '../support/repetitions.js';

/** Result codes (RFC 4511 §4.1.9, RFC 4528). */
const NO_SUCH_ATTRIBUTE = 16;
const ASSERTION_FAILED = 122;

/** Mutations of one operation, which has ten seconds. The number is even: a group is created and then updated. */
const CHUNK = 6;

/** The strings that are valid names, with a description each. */
const NAMES = [...new Set(NAUGHTY_STRINGS.map((text) => text.trim()))].filter((name) =>
  isAccepted(() => validateChange({ name }, GROUP_FIELDS)),
);
/** The strings of this run. */
const EVERY = repetitions({ usually: 12, long: 1 });
const TEXTS = NAMES.filter((_, index) => index % EVERY === 0);

function isAccepted(validate: () => unknown): boolean {
  try {
    validate();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** Other attributes of a group that contain the string if it is valid there. */
function extrasOfGroup(text: string): Partial<UpdateGroupInput> {
  return Object.assign(
    {},
    ...[{ website: `https://example.org/${text}` }, { email: `${text}@example.org` }].filter((extra) =>
      isAccepted(() => validateChange(extra, GROUP_FIELDS)),
    ),
  ) as Partial<UpdateGroupInput>;
}

function extrasOfPerson(text: string): Partial<UpdateUserInput> {
  return Object.assign(
    {},
    ...[{ schoolYear: text }, { email: `${text}@example.org` }].filter((extra) =>
      isAccepted(() => validateChange(extra, USER_FIELDS)),
    ),
  ) as Partial<UpdateUserInput>;
}

const PEOPLE_IDS = TEXTS.map((_, index) => `person-${index}`);

/** The group id of each text: the text itself if it is a valid id that no other group has. */
const GROUP_IDS = TEXTS.map((text, index) => {
  const isFirst = TEXTS.findIndex((each) => each.toLowerCase() === text.toLowerCase()) === index;
  return isFirst && /^[A-Za-z0-9][\w.-]*$/.test(text) ? text : `group-${index}`;
});

/** A group is created with a text, and then changed with the next one. */
function mutationsOfGroup(text: string, index: number): Mutation[] {
  const id = GROUP_IDS[index];
  const next = TEXTS[index + 1] ?? 'The last';
  return [
    {
      field: 'createGroup',
      input: { id, name: text, description: text, ...extrasOfGroup(text) },
      payload: 'group { id }',
    },
    {
      field: 'updateGroup',
      input: { group: { id }, name: next, description: `${next}\n\t${text}`, ...extrasOfGroup(`${next}/`) },
      payload: `group { ${GROUP} }`,
    },
  ];
}

function mutationOfPerson(text: string, index: number): Mutation {
  return {
    field: 'updateUser',
    input: {
      user: { id: PEOPLE_IDS[index] },
      name: text,
      givenName: text,
      familyName: text,
      ...extrasOfPerson(text),
    },
    payload: `user { ${USER} }`,
  };
}

/** All change the same user, and the last one shows the result. */
function mutationOfProfile(text: string, index: number): Mutation {
  const isLast = index % CHUNK === CHUNK - 1 || index === TEXTS.length - 1;
  return {
    field: 'updateProfile',
    input: {
      name: text,
      givenName: TEXTS[index - 1] ?? 'Me',
      familyName: text,
      email: `me-${index}@example.org`,
    },
    payload: `profile { ${isLast ? USER : 'id'} }`,
  };
}

function* chunksOf<Each>(all: readonly Each[]): Generator<Each[]> {
  for (let start = 0; start < all.length; start += CHUNK) yield all.slice(start, start + CHUNK);
}

describe('a preview with naughty strings', () => {
  let trip: RoundTrip;

  beforeAll(async () => {
    const people = PEOPLE_IDS.map((id) => ({ id }));
    trip = await RoundTrip.start(buildLdif([{ id: 'me' }, ...people]), 'me');
  });

  afterAll(() => trip.stop());

  /** Previews mutations, applies them, and returns the content of their payloads. */
  async function make(mutations: readonly Mutation[], as?: 'me'): Promise<Payload[]> {
    const { payloads, codes } = await trip.preview(mutations, as);
    expect(codes).toEqual([]);
    expect([await trip.apply(ldifOf(payloads)), trip.lastOutput]).toEqual([0, '']);
    return payloads.filter((payload) => payload !== null);
  }

  /** The API's response about these groups. */
  async function readAll(kind: 'user' | 'group', ids: readonly string[]): Promise<unknown[]> {
    const selection = kind === 'user' ? USER : GROUP;
    const answers: unknown[] = [];
    for (const chunk of chunksOf(ids)) {
      const fields = chunk.map((id, index) => [
        `it${index}`,
        `${kind}(${kind}: {id: "${id}"}) { ${selection} }`,
      ]);
      answers.push(...Object.values(await trip.read(Object.fromEntries(fields) as Record<string, string>)));
    }
    return answers;
  }

  it('accepts almost all of them', () => {
    expect(NAMES.length).toBeGreaterThan(NAUGHTY_STRINGS.length * 0.9);
    expect(NAMES).toEqual(expect.arrayContaining(['undefined', 'null', '1E2', 'CON']));
    expect(GROUP_IDS).toContain('undefined');
  });

  it('is rejected by the directory if the old value has changed, or a value was added', async () => {
    const change = async (input: Record<string, unknown>) => {
      const of = { field: 'updateUser', input: { user: { id: 'me' }, ...input }, payload: 'user { id }' };
      return ldifOf((await trip.preview([of])).payloads);
    };
    const [late, addition] = [
      await change({ familyName: 'King' }),
      await change({ email: 'late@example.org' }),
    ];
    expect(await trip.apply(await change({ familyName: 'Byron', email: 'early@example.org' }))).toBe(0);
    expect(await trip.apply(late)).toBe(NO_SUCH_ATTRIBUTE);
    expect(await trip.apply(addition)).toBe(ASSERTION_FAILED);
    await trip.catchUp();
    const me = await trip.read({ me: 'user(user: {id: "me"}) { familyName email }' });
    expect(me).toEqual({ me: { familyName: 'Byron', email: 'early@example.org' } });
  });

  it("matches the API's response about users after an administrator has applied it", async () => {
    const promised: unknown[] = [];
    for (const chunk of chunksOf(TEXTS.map(mutationOfPerson))) {
      promised.push(...(await make(chunk)).map(({ user }) => user));
    }
    await trip.catchUp();
    expect(await readAll('user', PEOPLE_IDS)).toEqual(promised);
  });

  it("matches the API's response to the user itself", async () => {
    let promised: unknown;
    for (const chunk of chunksOf(TEXTS.map(mutationOfProfile))) {
      promised = (await make(chunk, 'me')).at(-1)?.['profile'];
      await trip.catchUp();
    }
    expect(await trip.read({ me: `user(user: {id: "me"}) { ${USER} }` })).toEqual({ me: promised });
  });

  it("matches the API's response about groups", async () => {
    const promised: unknown[] = [];
    for (const chunk of chunksOf(TEXTS.flatMap(mutationsOfGroup))) {
      const payloads = await make(chunk);
      promised.push(...payloads.filter((_, index) => index % 2 === 1).map(({ group }) => group));
    }
    await trip.catchUp();
    expect(await readAll('group', GROUP_IDS)).toEqual(promised);
  });
});
