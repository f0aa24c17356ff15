/**
 * How often a test repeats what chance decides: `npm test` often enough to notice a change, and `npm run test:endurance`
 * (TEST_LONG) much more often.
 */
export function repetitions({ usually, long }: { usually: number; long: number }): number {
  return process.env['TEST_LONG'] === undefined ? usually : long;
}
