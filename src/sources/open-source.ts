import { ConfigError } from '../config/config.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import { InvalidDnError, normalizeDn } from '../ldap/naming/dn.js';
import { compileFilter } from '../ldap/filter/filter.js';
import { InvalidFilterError } from '../ldap/filter/filter-parser.js';
import { LdapSource } from './ldap/ldap-source.js';
import { LdifSource } from './ldif/ldif-source.js';
import type { DirectorySource } from './source.js';

/**
 * Creates the source for the configured directory, without a request to it.
 * @throws ConfigError when a filter or a base is malformed
 */
export function openSource(config: DirectoryConfig): DirectorySource {
  const { users, groups } = config.mapping;
  const problems = [...problemsOf('PEOPLE', users), ...problemsOf('GROUPS', groups)];
  if (problems.length > 0) throw new ConfigError(problems);
  const { source } = config;
  return source.kind === 'file' ? new LdifSource(config, source) : new LdapSource(config, source);
}

/** The problems in the settings that locate the entries of a kind, one line each. */
function problemsOf(
  kind: 'PEOPLE' | 'GROUPS',
  { base, filter }: { base: string; filter: string },
): readonly string[] {
  const problems: string[] = [];
  try {
    normalizeDn(base);
  } catch (error) {
    if (!(error instanceof InvalidDnError)) throw error;
    problems.push(`DIRECTORY_${kind}_BASE and DIRECTORY_BASE_DN make no DN: ${error.message}`);
  }
  try {
    compileFilter(filter);
  } catch (error) {
    if (!(error instanceof InvalidFilterError)) throw error;
    problems.push(`DIRECTORY_${kind}_FILTER is not a filter (RFC 4515): ${error.message}`);
  }
  return problems;
}
