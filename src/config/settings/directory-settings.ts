import { z } from 'zod';
import { parseUrl } from '../../common/url.js';
import { SAMPLE_DIRECTORY } from '../sample-files.js';
import { secret, setting, type ValuesOf } from '../setting.js';
import { certificates, integer, readable, text, wholeNumber, yesOrNo } from '../value-kinds.js';

const distinguishedName = text;

function isLdapUrl(value: string): boolean {
  if (!/^ldaps?:\/\/[^/?#@]+\/?$/i.test(value)) return false;
  const url = parseUrl(value);
  return url !== null && url.hostname !== '';
}

/** Splits the URLs of LDAP servers, which are separated by spaces or commas. */
export function splitUrls(value: string): string[] {
  return value.split(/[\s,]+/).filter((url) => url !== '');
}

function areLdapUrls(value: string): boolean {
  const urls = splitUrls(value);
  return urls.length > 0 && urls.every(isLdapUrl);
}

/** Settings of the directory: its servers, its model file, and its synchronization. */
export const DIRECTORY_SETTINGS = {
  DIRECTORY_URL: setting(
    text
      .refine((value) => /^file:.+/.test(value) || areLdapUrls(value), {
        error: 'must be ldap://host, ldaps://host, several of these, or file: and the path of an LDIF file',
      })
      .default(`file:${SAMPLE_DIRECTORY}`),
    'LDAP servers of one directory, separated by spaces or commas and tried in order, or file:PATH of an LDIF content file.',
  ),
  DIRECTORY_STARTTLS: setting(yesOrNo, 'Encrypts ldap:// connections with StartTLS.'),
  DIRECTORY_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of the LDAP server. Default: those of Node.js.',
  ),
  DIRECTORY_CERT_FILE: setting(
    readable.optional(),
    'PEM file with a client certificate and its chain, for a server that requires one. Read at each connection.',
  ),
  DIRECTORY_KEY_FILE: setting(
    readable.optional(),
    'PEM file with the key of DIRECTORY_CERT_FILE. Read at each connection.',
  ),
  DIRECTORY_SASL_EXTERNAL: setting(
    yesOrNo,
    'Binds as the account of the client certificate (SASL EXTERNAL), instead of DIRECTORY_BIND_DN.',
  ),
  DIRECTORY_BIND_DN: setting(distinguishedName.optional(), 'DN that the service binds as. Empty: anonymous.'),
  DIRECTORY_BIND_PASSWORD: secret(
    z.string().optional(),
    'Password of DIRECTORY_BIND_DN. A file is read at each connection.',
  ),
  DIRECTORY_BASE_DN: setting(distinguishedName.default('dc=example,dc=org'), 'Base DN of the directory.'),
  DIRECTORY_WEBHOOKS: setting(
    text.optional(),
    'YAML file with the receivers to which changes are sent. Equal for all services that use one database. Empty: none.',
  ),
  DIRECTORY_MODEL: setting(
    text.optional(),
    'YAML file with the model of the directory: bases, filters, attributes, fields, scopes and visibility. Empty: that of the sample for the sample directory, otherwise the built-in model.',
  ),
  DIRECTORY_SYNC_SECONDS: setting(
    integer(1, 86_400, 30),
    'Seconds between two requests of a server that does not push changes, and between two signs that the mirror is current.',
  ),
  DIRECTORY_SCAN_SECONDS: setting(
    wholeNumber(1, 86_400).optional(),
    'Seconds between two scans, which compare all entries with the mirror. Default: 50 times the duration of the last scan, between 30 seconds and 10 minutes.',
  ),
  DIRECTORY_GUARD_PERCENT: setting(
    integer(0, 100, 5),
    'Maximum share of users, groups or memberships that are deleted, or lose an attribute, within DIRECTORY_GUARD_SECONDS.',
  ),
  DIRECTORY_GUARD_SECONDS: setting(integer(1, 86_400, 600), 'Time window of the deletion guard, in seconds.'),
  DIRECTORY_CHANGES_DAYS: setting(integer(1, 3650, 30), 'Days for which the change log is kept.'),
};

export type DirectorySettings = ValuesOf<typeof DIRECTORY_SETTINGS>;
