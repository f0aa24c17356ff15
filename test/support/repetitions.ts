/** The database of the tests of this run; undefined if they need none. */
declare const STORE: 'pglite' | 'postgres' | undefined;

/**
 * Number of repetitions of a random test: few in `npm test`, many in `npm run test:endurance` (TEST_LONG). PGlite runs the same
 * SQL as PostgreSQL at a third of its speed, so that a third of the repetitions is enough.
 */
export function repetitions({ usually, long }: { usually: number; long: number }): number {
  const count = process.env['TEST_LONG'] === undefined ? usually : long;
  return typeof STORE === 'undefined' || STORE === 'postgres' ? count : Math.ceil(count / 3);
}
