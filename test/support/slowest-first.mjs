import TestSequencer from '@jest/test-sequencer';

/**
 * The slowest suites, slowest first: a slow suite that starts last leaves the other core idle. A clean checkout has no recorded
 * times, and Jest would sort by file size.
 */
const SLOWEST = `
  start-embedded change-streams workers behaviors/replicated faults-postgres ldap-convergence
  edited-model ldap-restored start command-line webhooks examples behaviors/polled log-unwritable
  commands pages settings-file revisions visibility-statements leader slow-requests connections scopes start-waiting`
  .trim()
  .split(/\s+/);

/** Suites that need no service run last: they are many and short. */
function placeOf({ path, context }) {
  const place = SLOWEST.findIndex((name) => path.includes(`/${name}.`));
  if (place !== -1) return place;
  return SLOWEST.length + (context.config.displayName.name === 'unit' ? 1 : 0);
}

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
