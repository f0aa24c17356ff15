import { LdapError, LdapResultError } from '../client/ldap-error.js';

/**
 * The server cannot go on from the cookie (RFC 4533 §2.6), and the content has to be asked for without one. Only then
 * is it known whether the server refuses altogether.
 */
export class RefreshRequiredError extends LdapResultError {}

/**
 * The server has no content synchronisation, has none for this account, or has one that cannot be believed at the
 * moment: the content can be read by searches all the same. The result code, if there is one, is that of the cause.
 */
export class ContentSyncRefusedError extends LdapError {}
