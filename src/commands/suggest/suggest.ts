import { ServiceError } from '../../common/errors.js';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { LdapError } from '../../ldap/client/ldap-error.js';
import { LdifError } from '../../ldap/ldif/ldif.js';
import type { Evidence } from './evidence.js';
import { readFileEvidence } from './read-file.js';
import { readServerEvidence } from './read-server.js';
import { suggestModel } from './suggest-model.js';

/**
 * Reads a part of a directory, without its model, and proposes a model file.
 * @throws {ServiceError} when there are neither users nor groups; errors of src/ldap
 */
export async function suggestFor({ source, baseDn }: DirectoryConfig, signal: AbortSignal): Promise<string> {
  const evidence = await readEvidence(source, baseDn, signal);
  const { users, groups } = evidence;
  if (users.entries.length + groups.entries.length > 0) return suggestModel(evidence);
  const reason = 'Check DIRECTORY_BASE_DN and the rights of the account';
  throw new ServiceError('NOT_FOUND', `There are no users and no groups below ${baseDn}. ${reason}`);
}

async function readEvidence(
  source: DirectoryConfig['source'],
  baseDn: string,
  signal: AbortSignal,
): Promise<Evidence> {
  try {
    return source.kind === 'file'
      ? await readFileEvidence(source.file, baseDn)
      : await readServerEvidence(source, baseDn, signal);
  } catch (error) {
    if (error instanceof LdapError || error instanceof LdifError)
      throw new ServiceError('SERVICE_UNAVAILABLE', `The directory cannot be read: ${error.message}`);
    throw error;
  }
}
