import TestSequencer from '@jest/test-sequencer';

/**
 * The slowest suites, slowest first: a slow suite that starts last leaves the other core idle. A clean checkout has no recorded
 * times, and Jest would sort by file size.
 */
const SLOWEST = [
  'leader-lease.postgres-spec.ts',
  'leader-network.postgres-spec.ts',
  'reconciliation.postgres-spec.ts',
  'own-fields-explain.postgres-spec.ts',
  'reconciliation-repairs.postgres-spec.ts',
  'explain-visibility.postgres-spec.ts',
  'ldap-providers.postgres-spec.ts',
  'behaviors/samba.postgres-spec.ts',
  'behaviors/directory-389.postgres-spec.ts',
  'behaviors/openldap-groups.postgres-spec.ts',
  'ldap-numbered.postgres-spec.ts',
  'start.e2e-spec.ts',
  'ldap-failures.postgres-spec.ts',
  'slow-requests.postgres-spec.ts',
  'faults-postgres.postgres-spec.ts',
  'canary.postgres-spec.ts',
  'faults-ldap.postgres-spec.ts',
  'documents.postgres-spec.ts',
  'start-embedded.process-spec.ts',
  'data-directory-lock.process-spec.ts',
  'ldap-restored.postgres-spec.ts',
  'preview-unusual-entries.postgres-spec.ts',
  'start-database.postgres-spec.ts',
  'ldap-convergence.postgres-spec.ts',
  'ldap-databases.postgres-spec.ts',
  'command-line.process-spec.ts',
  'examples.postgres-spec.ts',
  'pages.postgres-spec.ts',
  'reference.postgres-spec.ts',
  'explain.postgres-spec.ts',
  'revisions.postgres-spec.ts',
  'commands.postgres-spec.ts',
  'ldap-commands.postgres-spec.ts',
  'auth-external.postgres-spec.ts',
  'ldap-guard.postgres-spec.ts',
  'ldap-replicated.postgres-spec.ts',
  'changes.e2e-spec.ts',
  'mirror.e2e-spec.ts',
  'effective-roles.postgres-spec.ts',
  'prepared-statements.postgres-spec.ts',
  'preview-transaction.postgres-spec.ts',
  'guard-attributes.postgres-spec.ts',
  'before-first-synchronization-ldap.postgres-spec.ts',
  'faults-issuer.postgres-spec.ts',
  'pooler.postgres-spec.ts',
  'visibility-model.e2e-spec.ts',
  'shutdown-under-load.postgres-spec.ts',
  'ldap-renames.postgres-spec.ts',
  'hostile-requests.postgres-spec.ts',
  'scopes.postgres-spec.ts',
  'commands.pglite-spec.ts',
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
