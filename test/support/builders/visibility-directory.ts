import fc from 'fast-check';
import type { TestGroup, TestPerson } from './directory.js';

const NAMES = ['Anna', 'Ben', 'Carla', 'Dana'];
const YEARS = ['1A', '2B'];
export const PHONES = ['+41 1', '+41 2'];
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

/** The model of the fields that people have besides the built-in ones. */
export const VISIBILITY_FIELDS = `
users:
  fields:
    manager: {attribute: manager, type: User, description: The manager., reverse: reports}
    phone:
      {attribute: telephoneNumber, type: String, description: The phone number., visibleTo: groupAdmins, filterable: true}
`;

/** The entryUUID of a person, a group or nothing by its id, the same in each directory. */
export function uuidOfId(id: string): string {
  const kind = ['p', 'g'].indexOf(id.charAt(0)) + 1;
  return `00000000-0000-4000-8000-${kind}${id.replace(/\D/g, '').padStart(11, '0')}`;
}

/** The id of a person or a group by its entryUUID. */
export function idOfUuid(uuid: string): string {
  const digits = uuid.split('-')[4] ?? '';
  return `${['', 'p', 'g'][Number(digits.charAt(0))] ?? ''}${Number(digits.slice(1))}`;
}

/** A directory with nested groups, in which rules match some entries. Names are unique. */
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
    phone: rarely(PHONES),
    manager: rarely(ids),
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
      people: people.map(({ name, ...rest }, index) => ({
        id: `p${index}`,
        uuid: uuidOfId(`p${index}`),
        name: `${name} p${index}`,
        email: `p${index}@example.org`,
        ...(Object.fromEntries(
          Object.entries(rest).filter(([, value]) => value !== undefined),
        ) as Partial<TestPerson>),
      })),
      groups: groups.map(({ name, description, members: [users, nested], admins, owners }, index) => ({
        id: `g${index}`,
        uuid: uuidOfId(`g${index}`),
        name: `${name} g${index}`,
        ...(description === undefined ? {} : { description }),
        members: [...users, ...nested.map((id) => `@${id}`)],
        admins,
        owners,
      })),
    }));
}
