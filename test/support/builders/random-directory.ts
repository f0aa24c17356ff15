import fc from 'fast-check';
import type { TestGroup, TestPerson } from './directory.js';

/** Usual and unusual names of schools; several users share a name. */
const NAMES = [
  'Anna Berg',
  'anna berg',
  'Ànna Bérg',
  'Łukasz Żak',
  'Øyvind Åse',
  'Zoë Strauß',
  'İpek Işık',
  'Nguyễn Thị Ánh',
  'Αλέξανδρος Παππάς',
  '李小龙',
  '김민준',
  'محمد علي',
  "Siobhán O'Neill",
  '100% _anna_ \\ "Berg"',
  '🎓 Anna',
  '  spaced   out  ',
  'ﬁlip ǅordan',
  'ÿ',
  '\u{1F600}\uFFFD',
  'x'.repeat(300),
];
const YEARS = ['1A', '1a', '2B', '10C', 'É', undefined];

export interface RandomDirectory {
  people: TestPerson[];
  groups: TestGroup[];
}

/** A random directory of some size, with cyclic nesting. Equal seeds give equal directories. */
export function randomDirectory(size: { people: number; groups: number }, seed: number): RandomDirectory {
  const [directory] = fc.sample(directories(size), { numRuns: 1, seed });
  if (directory === undefined) throw new Error('There is no sample');
  return directory;
}

/** Random directories of a size. */
export function directories(size: { people: number; groups: number }): fc.Arbitrary<RandomDirectory> {
  const ids = Array.from({ length: size.people }, (_, index) => `p${index}`);
  const groupIds = Array.from({ length: size.groups }, (_, index) => `g${index}`);
  const person = fc.record({ name: fc.constantFrom(...NAMES), year: fc.constantFrom(...YEARS) });
  const some = (values: string[], maxLength: number) =>
    fc.uniqueArray(fc.constantFrom(...values), { maxLength });
  const named = fc
    .tuple(some(ids, Math.ceil(size.people / 5)), some(groupIds, 2))
    .map(([people, groups]) => [...people, ...groups.map((id) => `@${id}`)]);
  const group = fc.record({
    name: fc.constantFrom(...NAMES),
    members: named,
    admins: named.map((all) => all.slice(-5)),
    owners: named.map((all) => all.slice(-3)),
  });
  return fc
    .tuple(
      fc.array(person, { minLength: size.people, maxLength: size.people }),
      fc.array(group, { minLength: size.groups, maxLength: size.groups }),
    )
    .map(([people, groups]) => ({
      people: people.map(({ name, year }, index) => ({
        id: ids[index] ?? '',
        name,
        ...(year === undefined ? {} : { schoolYear: year }),
      })),
      groups: groups.map((each, index) => ({ id: groupIds[index] ?? '', ...each })),
    }));
}
