import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { ServerBehindError, SourceError } from '../../sources/source.error.js';
import { OutdatedPlanError } from '../apply/outdated-plan.error.js';
import type { SyncOutcome } from './outcome.js';

/** Whether an error concerns the source and not the mirror. */
export function isOfSource(error: unknown): error is Error {
  return (
    error instanceof LdifError ||
    error instanceof LdapError ||
    error instanceof SourceError ||
    error instanceof OutdatedPlanError
  );
}

/** The outcome of a run that such an error ended. */
export function failureOf(error: Error): SyncOutcome {
  return {
    kind: 'failed',
    reason: error.message,
    isFinal: error instanceof LdifError,
    isBehind: error instanceof ServerBehindError,
  };
}
