import { LdapError, LdapResultError } from '../client/ldap-error.js';

/**
 * The server cannot continue from the cookie (RFC 4533 §2.6). The content has to be requested without a
 * cookie; only that request shows whether the server refuses all content synchronization.
 */
export class RefreshRequiredError extends LdapResultError {}

/**
 * The server does not offer content synchronization, does not offer it to this account, or its results are
 * currently unreliable. The content can still be read by searches. The cause carries the LDAP result code, if
 * there is one.
 */
export class ContentSyncRefusedError extends LdapError {}
