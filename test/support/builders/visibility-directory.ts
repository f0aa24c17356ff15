import fc from 'fast-check';
import type { TestGroup, TestPerson } from './directory.js';

const NAMES = ['Anna', 'Ben', 'Carla', 'Dana'];
const YEARS = ['1A', '2B'];
const HIDDEN = ['hidden', 'hidden from all'];
const DESCRIPTIONS = [
  'secret',
  'secret of admins',
  'private',
  'private to admins',
  'secret and private',
  'secret of admins, private to admins',
  'secret, private to admins',
];

export interface VisibilityDirectory {
  people: TestPerson[];
  groups: TestGroup[];
}

/** A directory with nested groups, in which rules of TEST_RULES match some entries. Names are unique. */
export function visibilityDirectories(size: {
  people: number;
  groups: number;
}): fc.Arbitrary<VisibilityDirectory> {
  const ids = Array.from({ length: size.people }, (_, index) => `p${index}`);
  const groupIds = Array.from({ length: size.groups }, (_, index) => `g${index}`);
  const some = (values: string[], maxLength: number) =>
    fc.uniqueArray(fc.constantFrom(...values), { maxLength });
  const rarely = (values: string[]) => fc.constantFrom(...values, ...values.map(() => undefined), undefined);
  const person = fc.record({
    name: fc.constantFrom(...NAMES),
    schoolYear: rarely(YEARS),
    familyName: rarely(HIDDEN),
  });
  const group = fc.record({
    name: fc.constantFrom(...NAMES),
    description: rarely(DESCRIPTIONS),
    members: fc.tuple(some(ids, 6), some(groupIds, 2)),
    admins: some(ids, 2),
    owners: some(ids, 1),
  });
  return fc
    .tuple(
      fc.array(person, { minLength: size.people, maxLength: size.people }),
      fc.array(group, { minLength: size.groups, maxLength: size.groups }),
    )
    .map(([people, groups]) => ({
      people: people.map(({ name, schoolYear, familyName }, index) => ({
        id: `p${index}`,
        name: `${name} p${index}`,
        ...(schoolYear === undefined ? {} : { schoolYear }),
        ...(familyName === undefined ? {} : { familyName }),
      })),
      groups: groups.map(({ name, description, members: [users, nested], admins, owners }, index) => ({
        id: `g${index}`,
        name: `${name} g${index}`,
        ...(description === undefined ? {} : { description }),
        members: [...users, ...nested.map((id) => `@${id}`)],
        admins,
        owners,
      })),
    }));
}
