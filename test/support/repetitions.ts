/** Number of repetitions of a random test: few in `npm test`, many in `npm run test:endurance` (TEST_LONG). */
export function repetitions({ usually, long }: { usually: number; long: number }): number {
  return process.env['TEST_LONG'] === undefined ? usually : long;
}
