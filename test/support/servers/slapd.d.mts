import type { Ended, LdapQuery } from './ldap-tools.mjs';

export interface SlapdOptions {
  /** The overlay for content synchronization (RFC 4533), with a session log. Default: on. */
  syncprov?: boolean;
  /** The overlay that rewrites the DNs in groups when an entry is renamed or deleted. */
  refint?: boolean;
  /** The overlay that adds the members of a groupOfURLs by the searches in memberURL. */
  dynlist?: boolean;
  /** The content. The suffix, ou=people, ou=groups and the account of the mirror are added if they are missing. */
  ldif?: string;
  /** Lines of slapd.conf that replace the default access rules: the mirror reads everything, others nothing. */
  acl?: string[];
  /** The value of `limits`. */
  limits?: string;
  /** StartTLS on the port, and ldaps on `tlsPort`, for 127.0.0.1 and localhost. */
  tls?: boolean;
  /** Requires client certificates. The holder of the server's own certificate is this account (SASL EXTERNAL). */
  clientAccount?: string;
  port?: number;
  tlsPort?: number;
  /** The server ID among replicating servers. */
  serverId?: number;
  /** URLs of the servers that it replicates (RFC 4533). */
  providers?: string[];
  /** Accepts changes of clients although it has providers. */
  multiProvider?: boolean;
  /** Starts without content, which comes from its providers. */
  empty?: boolean;
  /** Maximum size of the database, whose file grows with its content. Default: a gibibyte. */
  maxBytes?: number;
  /** Directory of all files. Existing data is served unchanged. */
  directory?: string;
}

export interface TestSlapd {
  readonly directory: string;
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly ca: Buffer;
  modify(ldif: string): Promise<Ended>;
  search(query?: Partial<LdapQuery>): Promise<string>;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  freeze(): void;
  unfreeze(): void;
  restart(options?: SlapdOptions): Promise<void>;
  /** The whole database with operational attributes, like a backup. */
  dump(): Promise<string>;
  /** Adds the records of an LDIF file, which may be larger than a text, to the database of a stopped server. */
  addFile(file: string): Promise<void>;
  /** Replaces the database of a stopped server by a dump. */
  restore(ldif: string): Promise<void>;
  remove(): Promise<void>;
}

export const SUFFIX: string;
export const ROOT_DN: string;
export const ROOT_PASSWORD: string;
export const MIRROR_DN: string;
export const MIRROR_PASSWORD: string;
export function startSlapd(options?: SlapdOptions): Promise<TestSlapd>;
/**
 * Creates an authority (ca.pem) and a certificate with its key (server.pem, server.key) in a directory.
 * @param names of the server, in the form of the extension subjectAltName. Default: localhost and 127.0.0.1.
 */
export function makeCertificates(directory: string, names?: string): Promise<void>;
