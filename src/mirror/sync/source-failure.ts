import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif-error.js';
import { SourceError } from '../../sources/source.error.js';
import { OutdatedPlanError } from '../apply/outdated-plan.error.js';

/** Whether an error concerns the source and not the mirror. */
export function isOfSource(error: unknown): error is Error {
  return (
    error instanceof LdifError ||
    error instanceof LdapError ||
    error instanceof SourceError ||
    error instanceof OutdatedPlanError
  );
}
