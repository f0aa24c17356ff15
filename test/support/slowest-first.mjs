import TestSequencer from '@jest/test-sequencer';

/**
 * The slowest suites, slowest first: a slow suite that starts last leaves the other core idle. A clean checkout has no recorded
 * times, and Jest would sort by file size.
 */
const SLOWEST = `
  ldap-convergence documents change-streams leader-network leader behaviors/replicated faults-ldap pages examples
  service-account-commands behaviors/polled faults-postgres workers commands visibility-model webhooks ldap-restored
  hanging-workers ldap-renames hostile-requests custom-fields-model edited-model start command-line visibility-statements`
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
