import { LdapResultError } from './ldap-error.js';

/** The server cannot go on from the cookie (RFC 4533 §2.6): the content has to be asked for without one. */
export class RefreshRequiredError extends LdapResultError {}

/** The server has no content synchronisation, or none for this account: the content can only be read by searches. */
export class ContentSyncRefusedError extends LdapResultError {}
