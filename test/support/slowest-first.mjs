import TestSequencer from '@jest/test-sequencer';

/**
 * The slowest suites, slowest first: a slow suite that starts last leaves the other core idle. A clean checkout has no recorded
 * times, and Jest would sort by file size.
 */
const SLOWEST = [
  'reconciliation.postgres-spec.ts',
  'reconciliation-repairs.postgres-spec.ts',
  'leader-lease.postgres-spec.ts',
  'leader-promoted.postgres-spec.ts',
  'pooler.postgres-spec.ts',
  'two-processes.postgres-spec.ts',
  'orphaned-replica.postgres-spec.ts',
  'ldap-replicated.postgres-spec.ts',
  'rolling-restart.postgres-spec.ts',
  'equal-responses.postgres-spec.ts',
  'mirror-kill.postgres-spec.ts',
  'ldap-convergence.postgres-spec.ts',
  'ldap-kill.postgres-spec.ts',
  'commands.postgres-spec.ts',
  'hostile-requests.postgres-spec.ts',
  'connections.e2e-spec.ts',
  'mirror-kill.pglite-spec.ts',
  'start.e2e-spec.ts',
  'documents.postgres-spec.ts',
  'effective-roles.e2e-spec.ts',
  'ldap-failures.postgres-spec.ts',
  'faults-ldap.postgres-spec.ts',
  'preview-round-trip.postgres-spec.ts',
  'preview-sequences.postgres-spec.ts',
  'ldap-commands.postgres-spec.ts',
  'ldap-guard.postgres-spec.ts',
  'preview-transaction.postgres-spec.ts',
  'preview-transaction.e2e-spec.ts',
  'roles.e2e-spec.ts',
  'fuzz.postgres-spec.ts',
  'pages.postgres-spec.ts',
  'start-embedded.process-spec.ts',
  'auth-external.postgres-spec.ts',
  'ldap-providers.postgres-spec.ts',
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
