import type { DirectoryConfig } from '../config/settings/directory.js';
import { LdapSource } from './ldap/ldap-source.js';
import { LdifSource } from './ldif/ldif-source.js';
import type { DirectorySource } from './source.js';

/** Creates the source for the configured directory, without a request to it. */
export function openSource(config: DirectoryConfig): DirectorySource {
  const { source } = config;
  return source.kind === 'file' ? new LdifSource(config, source) : new LdapSource(config, source);
}
