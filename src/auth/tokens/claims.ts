import type { Config } from '../../config/config.js';
import { audienceForms, FOREIGN, issuersOf, type TokenRules } from '../../config/settings/providers.js';
import { knownScopes } from '../principal.js';

/** The claims of a JWT, or the members of an introspection. Nothing is known about their types. */
export type Claims = Readonly<Record<string, unknown>>;

/** Tokens are for an audience of the settings, or for the service by its URL. */
export function expectedOf({ auth, baseUrl, scopes }: Pick<Config, 'auth' | 'baseUrl' | 'scopes'>) {
  const { issuer, provider, introspection, rules } = auth;
  return {
    issuers: issuer === null ? [baseUrl] : issuersOf(issuer, provider),
    audiences: [...auth.audiences.flatMap((each) => audienceForms(each, provider)), baseUrl, `${baseUrl}/`],
    rules,
    mayLackAudience: introspection?.mayLackAudience === true,
    scopes,
  };
}

type Expected = Readonly<ReturnType<typeof expectedOf>>;

/** Seconds by which the clock of the issuer may differ. */
export const CLOCK_TOLERANCE = 60;
/** The end of the year 9999 in seconds. A time in milliseconds is later. */
const LATEST = 253_402_300_799;

/**
 * Why a token is rejected by its claims, in the order in which they matter; null if all are right. The text is safe in a quoted
 * string of a header (RFC 9110 §5.6.4).
 * @param header that of a JWT (RFC 9068 §4); null: an introspection (RFC 7662 §2.2)
 * @param now seconds since 1970
 */
export function findWrongClaim(
  header: Claims | null,
  claims: Claims,
  { issuers, audiences, rules, mayLackAudience }: Expected,
  now: number,
): string | null {
  const isJwt = header !== null;
  const { iss, aud, sub, exp, nbf, iat, cnf } = claims;
  const mayLack = (claim: unknown) => !isJwt && !given(claim);
  return (
    wrongType(header, rules) ??
    wrongKind(header, claims, rules) ??
    (mayLack(iss) ? null : wrongName('iss', [iss], issuers)) ??
    // Only an audience can be a list (RFC 7519 §4.1).
    (mayLackAudience && mayLack(aud) ? null : wrongName('aud', [aud].flat(), audiences)) ??
    wrongSubject(sub, isJwt && rules.tokenType !== 'any') ??
    (mayLack(exp) ? null : wrongTime('exp', exp, now)) ??
    wrongTime('nbf', nbf, now) ??
    wrongTime('iat', iat, now) ??
    // RFC 7800: a token that is bound to a key needs a proof of possession, and no proof is supported.
    (given(cnf) ? 'it is bound to a key, and no proof of that key is accepted' : null)
  );
}

const given = (value: unknown): boolean => value !== undefined && value !== null;

/** A media type may lack `application/` (RFC 7515 §4.1.9). */
const typeOf = ({ typ }: Claims) =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;

function wrongSubject(sub: unknown, isRequired: boolean): string | null {
  const isRight = given(sub) ? typeof sub === 'string' && sub !== '' : !isRequired;
  return isRight ? null : 'its sub is missing, or not a text';
}

function wrongName(claim: string, names: readonly unknown[], accepted: readonly string[]): string | null {
  if (names.some((each) => typeof each === 'string' && accepted.includes(each))) return null;
  const said = shown(names.length === 1 ? names[0] : names);
  return `its ${claim} is ${said}, and ${shown(accepted[0])} is expected`;
}

function wrongType(header: Claims | null, { tokenType }: TokenRules): string | null {
  if (header === null) return null;
  const type = typeOf(header);
  const isAny = tokenType === 'any';
  if (type === 'at+jwt' || (isAny && (type === undefined || type === 'jwt'))) return null;
  const expected = isAny ? 'at+jwt, JWT or none is expected' : 'at+jwt is expected';
  const hint = type === 'jwt' ? ': see AUTH_PROVIDER and AUTH_TOKEN_TYPE' : '';
  return `its typ is ${shown(header['typ'])}, and ${expected}${hint}`;
}

/**
 * The names that providers give to access tokens, in lower case. RFC 7662 does not say whether an issuer introspects
 * other tokens. Hydra, Keycloak and Cognito do, and each names the kind in another member.
 */
const ACCESS_TOKENS: Readonly<Record<string, RegExp>> = {
  token_use: /^access(_token)?$/i,
  token_type: /^(bearer|(personal_|urn:ietf:params:oauth:token-type:)?access_token)$/i,
  typ: /^(bearer|access|access_token|(application\/)?at\+jwt|jwt)$/i,
};

/** By what sign this is an ID token, a refresh token, a logout token or another one. */
function wrongKind(header: Claims | null, claims: Claims, rules: TokenRules): string | null {
  // The header of RFC 9068 says what it is.
  const isNamed = header !== null && typeOf(header) === 'at+jwt';
  if (isNamed && rules.tokenType === 'at+jwt') return null;
  const what = 'it is not an access token';
  for (const [claim, names] of Object.entries(ACCESS_TOKENS)) {
    const name = claims[claim];
    if (given(name) && (typeof name !== 'string' || !names.test(name)))
      return `${what}: its ${claim} is ${shown(name)}`;
  }
  if (isNamed) return null;
  // Introspections repeat what is known about the sign-in.
  const foreign = header === null ? FOREIGN : rules.foreignClaims;
  const other = foreign.find((claim) => given(claims[claim]));
  if (other !== undefined) return `${what}: it has ${other}, as other tokens have`;
  if (header === null) return null;
  if (rules.mark !== null && !given(claims[rules.mark]))
    return `${what}: it has no ${rules.mark}, as access tokens have`;
  // ID tokens of Entra ID, Auth0, Okta and Hydra name their client as audience only.
  const { clientClaims } = rules;
  return clientOf(claims, rules) !== null ? null : `${what}: it names no client (${clientClaims.join(', ')})`;
}

function wrongTime(claim: 'exp' | 'nbf' | 'iat', time: unknown, now: number): string | null {
  if (claim !== 'exp' && !given(time)) return null;
  if (typeof time !== 'number' || !(time >= 0 && time <= LATEST))
    return `its ${claim} is ${shown(time)}, and seconds since 1970 are expected`;
  const at = new Date(time * 1000).toISOString();
  if (claim === 'exp') return time + CLOCK_TOLERANCE <= now ? `it has expired: its exp is ${at}` : null;
  return time - CLOCK_TOLERANCE > now ? `it is not valid yet: its ${claim} is ${at}` : null;
}

/** A value of a token in a message, bounded, in printable ASCII without the characters that end a quoted string. */
function shown(value: unknown): string {
  if (!given(value)) return 'missing';
  const text = typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', "'");
  return text.slice(0, 200).replace(/[^\x20-\x7e]|["\\]/g, '?');
}

export function readMeaning(claims: Claims, { rules, scopes }: Pick<Expected, 'rules' | 'scopes'>) {
  const subject = textOf(claims['sub']);
  const clientId = clientOf(claims, rules);
  const user = textOf(valueAt(claims, rules.userClaim));
  // A client that acts for itself is no user, even if a user has the same id: RFC 9068 §2.2, Auth0, Keycloak.
  const own =
    clientId === null ? [] : [clientId, `${clientId}@clients`, `service-account-${clientId.toLowerCase()}`];
  const isOfClient = [subject, user].some((each) => each !== null && own.includes(each));
  const { gty, grant_type: grantType } = claims;
  // With an underscore as in RFC 6749 §4.4.2, or with a hyphen as at Auth0.
  const isByGrant = [gty, grantType].some((grant) => /^client[_-]credentials$/.test(String(grant)));
  // Anyone can enter the address of another person, and wait for nothing.
  const isAddress = rules.userField === 'email' || /(?:^|[./])e?mail$/i.test(rules.userClaim);
  const verified = claims['email_verified'] ?? true;
  const isUnverified = isAddress && verified !== true && verified !== 'true';
  const whyNoUser =
    (isOfClient ? 'the token is of the client itself' : null) ??
    (user === null ? `it has no ${rules.userClaim}` : null) ??
    (isUnverified ? 'email_verified is false' : null);
  return {
    kind: isOfClient || isByGrant ? ('PERSONAL_ACCESS_TOKEN' as const) : ('ACCESS_TOKEN' as const),
    subject: subject ?? user,
    clientId,
    /** The value of the claim that names the user; null if the token acts for no user. */
    user: whyNoUser === null ? user : null,
    whyNoUser,
    scopes: knownScopes(readScopes(claims, rules), scopes),
  };
}

/** RFC 9068 §2.2 requires client_id. Keycloak and Auth0 send azp, Entra ID azp or appid, and Okta cid. */
function clientOf(claims: Claims, { clientClaims }: TokenRules): string | null {
  return clientClaims.map((claim) => textOf(claims[claim])).find((client) => client !== null) ?? null;
}

function readScopes(claims: Claims, { scopeClaim, roleClaim }: TokenRules): string[] {
  if (scopeClaim !== null) return wordsOf(valueAt(claims, scopeClaim));
  const { scope, scp } = claims;
  if (roleClaim !== null && !given(scope) && !given(scp)) return wordsOf(valueAt(claims, roleClaim));
  return [...wordsOf(scope), ...wordsOf(scp)];
}

/** RFC 6749 §3.3 separates scopes by spaces. Others have a list, or an object with roles as names. */
function wordsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ');
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string');
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

/** The value of a claim with this name, or else at this path. Names can be URLs, which have dots. */
function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path.split('.').reduce<unknown>((value, name) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    return isObject ? (value as Claims)[name] : undefined;
  }, claims);
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
