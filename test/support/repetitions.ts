/** Which database the tests of this run are on; undefined where they need none. */
declare const STORE: 'pglite' | 'postgres' | undefined;

/**
 * How often a test repeats what chance decides: `npm test` often enough to notice a change, and `npm run test:endurance`
 * (TEST_LONG) much more often. PGlite runs the same SQL as PostgreSQL, at a third of its speed: a third is enough there.
 */
export function repetitions({ usually, long }: { usually: number; long: number }): number {
  if (process.env['TEST_LONG'] !== undefined) return long;
  return typeof STORE === 'undefined' || STORE === 'postgres' ? usually : Math.ceil(usually / 3);
}
