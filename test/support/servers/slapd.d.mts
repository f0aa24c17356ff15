export interface SlapdOptions {
  /** The overlay for content synchronisation (RFC 4533), with a session log. On unless told. */
  syncprov?: boolean;
  /** The overlay that rewrites the DNs in groups when an entry is renamed or deleted. */
  refint?: boolean;
  /** The overlay that finds the members of a groupOfURLs by the searches in memberURL. */
  dynlist?: boolean;
  /**
   * Keeps ou=people in a database of its own, without syncprov unless told. The database is a part of the one above (glued), or
   * separate.
   */
  peopleDatabase?: 'glued' | 'separate';
  /** The overlay syncprov for the database of ou=people. */
  peopleSyncprov?: boolean;
  /** The content. The suffix, ou=people, ou=groups and the account of the mirror are added when they are missing. */
  ldif?: string;
  /** Lines of slapd.conf in the place of those that let the mirror read everything and others nothing. */
  acl?: string[];
  /** What stands after `limits`. */
  limits?: string;
  /** StartTLS on the port, and ldaps on `tlsPort`, for 127.0.0.1 and localhost. */
  tls?: boolean;
  port?: number;
  tlsPort?: number;
  /** The ID of the server among those that replicate each other. */
  serverId?: number;
  /** Servers whose changes it takes over (RFC 4533), by URL. */
  providers?: string[];
  /** Takes changes of clients although it has providers. */
  multiProvider?: boolean;
  /** Begins without any content: its providers have it. */
  empty?: boolean;
  /** How far its clock is off, as libfaketime writes it (`+1d`). */
  clock?: string;
  /** Without an index of entryUUID: with it from a later start on, the server does not find by it what is there already. */
  unindexed?: boolean;
  /** Where everything is kept; data that is there already is served as it is. */
  directory?: string;
}

export interface TestSlapd {
  readonly directory: string;
  readonly url: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly ca: Buffer;
  modify(ldif: string): Promise<{ code: number; stdout: string; stderr: string }>;
  search(query?: {
    base?: string;
    scope?: 'base' | 'one' | 'sub';
    filter?: string;
    attributes?: string[];
  }): Promise<string>;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  freeze(): void;
  wake(): void;
  restart(options?: SlapdOptions): Promise<void>;
  /** The whole database with all that the server keeps of it, as a backup has it. */
  dump(): Promise<string>;
  /** Replaces the database of a stopped server by a dump, as it is. */
  restore(ldif: string): Promise<void>;
  /** Changes the database beside the server, which goes on and tells nothing of it. */
  changeSilently(records: string): Promise<void>;
  remove(): Promise<void>;
}

export const SUFFIX: string;
export const ROOT_DN: string;
export const ROOT_PASSWORD: string;
export const MIRROR_DN: string;
export const MIRROR_PASSWORD: string;
export function startSlapd(options?: SlapdOptions): Promise<TestSlapd>;
/** Writes into a directory an authority (ca.pem), and what it gives a server that is called localhost (server.pem, server.key). */
export function makeCertificates(directory: string): Promise<void>;
