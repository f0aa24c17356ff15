/** A server, and the account that reads and changes it. */
export interface LdapAccount {
  readonly url: string;
  readonly dn: string;
  readonly password: string;
  /** The file with the certificate (PEM) of the authority that signed the server's. */
  readonly authority?: string;
}

export interface LdapQuery {
  base: string;
  scope?: 'base' | 'one' | 'sub';
  filter?: string;
  attributes?: string[];
  /** Further options of ldapsearch, such as controls. */
  options?: string[];
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end. */
export function runProgram(
  program: string,
  args: string[],
  input?: string,
  environment?: Record<string, string>,
): Promise<Ended>;
/** Whether a server answers a search of its root DSE. */
export function isServed(url: string): Promise<boolean>;
/** Applies change records. */
export function modify(account: LdapAccount, ldif: string): Promise<Ended>;
/** The entries that the account sees, as LDIF without folded lines. */
export function search(account: LdapAccount, query: LdapQuery): Promise<string>;
