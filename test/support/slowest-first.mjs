import TestSequencer from '@jest/test-sequencer';

/**
 * The slowest suites, slowest first: a slow suite that starts last leaves the other core idle. A clean checkout has no recorded
 * times, and Jest would sort by file size.
 */
const SLOWEST = [
  'signing-keys.postgres-spec.ts',
  'documents.postgres-spec.ts',
  'command-line.process-spec.ts',
  'leader.postgres-spec.ts',
  'commands.postgres-spec.ts',
  'leader-network.postgres-spec.ts',
  'start.e2e-spec.ts',
  'behaviors/polled.postgres-spec.ts',
  'ldap-failures.postgres-spec.ts',
  'examples.postgres-spec.ts',
  'pages.postgres-spec.ts',
  'change-streams.postgres-spec.ts',
  'service-account-commands.postgres-spec.ts',
  'ldap-convergence.postgres-spec.ts',
  'behaviors/replicated.postgres-spec.ts',
  'hostile-requests.postgres-spec.ts',
  'ldap-replicated.postgres-spec.ts',
  'auth-external.postgres-spec.ts',
  'model-releases.process-spec.ts',
  'visibility-model.postgres-spec.ts',
  'custom-fields-model.postgres-spec.ts',
  'visibility-statements.postgres-spec.ts',
  'preview-round-trip.postgres-spec.ts',
  'workers.postgres-spec.ts',
  'faults-postgres.postgres-spec.ts',
];

/** Suites that need no service run last: they are many and short. */
function placeOf({ path, context }) {
  const place = SLOWEST.findIndex((name) => path.endsWith(`/${name}`));
  if (place !== -1) return place;
  return SLOWEST.length + (context.config.displayName.name === 'unit' ? 1 : 0);
}

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
