import fc from 'fast-check';
import { buildLdif } from '../support/builders/directory.js';
import { type Mutation, RoundTrip, SENTINEL } from '../support/clients/round-trip.js';
import { repetitions } from '../support/repetitions.js';

const SEQUENCES = repetitions({ usually: 8, long: 24 });
const PEOPLE = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
/** The first four exist at the beginning; the others can be created, and all can be deleted. */
const GROUPS = ['g0', 'g1', 'g2', 'g3', 'g4', 'g5', 'g6'];

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
const text = fc.constantFrom('Anna', 'anna', 'Łukasz Żak', '李小龙', '😀 :<', '-', 'Z');

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

describe('a sequence of previews', () => {
  it('shows the state after its records are applied, for random mutations', async () => {
    const trip = await RoundTrip.start(LDIF, 'p0');
    const seen = { made: 0, refused: 0 };
    try {
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
    } finally {
      await trip.stop();
    }
    expect(seen.made).toBeGreaterThan(2 * SEQUENCES);
    expect(seen.refused).toBeGreaterThan(SEQUENCES / 2);
  });
});
