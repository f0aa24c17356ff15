import { ServiceError } from '../src/common/errors.js';
import type { UpdateGroupInput } from '../src/previews/group-change.inputs.js';
import type { UpdateUserInput } from '../src/previews/user-change.inputs.js';
import { validateGroupChange, validatePersonChange } from '../src/previews/validate.js';
import { buildLdif } from './support/directory.js';
import { NAUGHTY_STRINGS } from './support/naughty-strings.js';
import { GROUP, ldifOf, type Mutation, RoundTrip, USER } from './support/round-trip.js';

/** Mutations that go into one operation: it has ten seconds. */
const CHUNK = 120;

/** The strings that can be a name, and with that a description. */
const TEXTS = [...new Set(NAUGHTY_STRINGS.map((text) => text.trim()))].filter((name) =>
  isAccepted(() => validateGroupChange({ name } as UpdateGroupInput)),
);

function isAccepted(validate: () => unknown): boolean {
  try {
    validate();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** What else there is of a group that has something of a string in it, where that is accepted. */
function extrasOfGroup(text: string): Partial<UpdateGroupInput> {
  return Object.assign(
    {},
    ...[{ website: `https://example.org/${text}` }, { email: `${text}@example.org` }].filter((extra) =>
      isAccepted(() => validateGroupChange(extra as UpdateGroupInput)),
    ),
  ) as Partial<UpdateGroupInput>;
}

function extrasOfPerson(text: string): Partial<UpdateUserInput> {
  return Object.assign(
    {},
    ...[{ schoolYear: text }, { email: `${text}@example.org` }].filter((extra) =>
      isAccepted(() => validatePersonChange(extra)),
    ),
  ) as Partial<UpdateUserInput>;
}

/** A person is changed with a text; a group is made with it, and then changed with the next one. */
function mutationsFor(text: string, index: number): Mutation[] {
  const next = TEXTS[index + 1] ?? 'The last';
  const names = { name: text, givenName: text, familyName: text };
  return [
    {
      field: 'updateUser',
      input: { user: { id: `p${index}` }, ...names, ...extrasOfPerson(text) },
      payload: `user { ${USER} }`,
    },
    {
      field: 'createGroup',
      input: { id: `g${index}`, name: text, description: text, ...extrasOfGroup(text) },
      payload: `group { ${GROUP} }`,
    },
    {
      field: 'updateGroup',
      input: {
        group: { id: `g${index}` },
        name: next,
        description: `${next}\n\t${text}`,
        ...extrasOfGroup(`${next}/`),
      },
      payload: `group { ${GROUP} }`,
    },
  ];
}

function* chunksOf<Each>(all: readonly Each[]): Generator<Each[]> {
  for (let start = 0; start < all.length; start += CHUNK) yield all.slice(start, start + CHUNK);
}

describe('what is previewed with naughty strings', () => {
  let trip: RoundTrip;

  beforeAll(async () => {
    const people = TEXTS.map((_, index) => ({ id: `p${index}` }));
    trip = await RoundTrip.start(buildLdif([{ id: 'me' }, ...people]), 'me');
  });

  afterAll(() => trip.stop());

  it('is what the API answers once an administrator has applied it', async () => {
    expect(TEXTS.length).toBeGreaterThan(NAUGHTY_STRINGS.length * 0.9);
    const expected = new Map<string, unknown>();
    for (const chunk of chunksOf(TEXTS.flatMap(mutationsFor))) {
      const { payloads, codes } = await trip.preview(chunk);
      expect(codes).toEqual([]);
      for (const payload of payloads) {
        const [kind, value] = Object.entries(payload ?? {})[1] as [string, { id: string }];
        expected.set(`${kind} ${value.id}`, value);
      }
      expect([await trip.apply(ldifOf(payloads)), trip.said]).toEqual([0, '']);
    }
    const mine = TEXTS.map((text, index): Mutation => ({
      field: 'updateProfile',
      input: {
        name: text,
        givenName: TEXTS[index - 1] ?? 'Me',
        familyName: text,
        email: `me-${index}@example.org`,
      },
      payload: `profile { ${index % CHUNK === CHUNK - 1 || index === TEXTS.length - 1 ? USER : 'id'} }`,
    }));
    for (const chunk of chunksOf(mine)) {
      await trip.catchUp();
      const { payloads, codes } = await trip.preview(chunk, 'me');
      expect(codes).toEqual([]);
      expected.set('user me', payloads.at(-1)?.['profile']);
      expect([await trip.apply(ldifOf(payloads)), trip.said]).toEqual([0, '']);
    }
    await trip.catchUp();
    for (const keys of chunksOf([...expected.keys()])) {
      const fields = keys.map((key, index) => {
        const [kind = '', id = ''] = key.split(' ');
        return [`it${index}`, `${kind}(${kind}: {id: "${id}"}) { ${kind === 'user' ? USER : GROUP} }`];
      });
      const answers = await trip.read(Object.fromEntries(fields) as Record<string, string>);
      expect(Object.values(answers)).toEqual(keys.map((key) => expected.get(key)));
    }
  });
});
