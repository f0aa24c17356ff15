import type { Config } from '../../config/config.js';
import { audienceForms, FOREIGN, issuersOf, type TokenRules } from '../../config/settings/providers.js';
import { PROTECTED_PATHS } from '../../http/challenges.js';
import { knownScopes } from '../principal.js';

/** The claims of a JWT, or the members of an introspection. Nothing is known about their types. */
export type Claims = Readonly<Record<string, unknown>>;

/** Tokens are for an audience of the settings, or for a resource that the service advertises (RFC 9728). */
export function expectedOf({ auth, baseUrl, scopes }: Pick<Config, 'auth' | 'baseUrl' | 'scopes'>) {
  const { issuer, provider, introspection, rules } = auth;
  const resources = ['', '/', ...PROTECTED_PATHS].map((path) => `${baseUrl}${path}`);
  return {
    issuers: issuer === null ? [baseUrl] : issuersOf(issuer, provider),
    audiences: [...auth.audiences.flatMap((each) => audienceForms(each, provider)), ...resources],
    /** Those of them that messages name. */
    namedAudiences: [...new Set([...auth.audiences, baseUrl])],
    rules,
    /** Whether an introspection without `aud` is accepted. */
    mayLackAudience: introspection?.mayLackAudience === true,
    scopes,
  };
}

/** What an access token has to have. */
export type Expected = Readonly<ReturnType<typeof expectedOf>>;

/** Seconds by which the clock of the issuer may differ. */
export const CLOCK_TOLERANCE = 60;
/** The end of the year 9999 in seconds. A time in milliseconds is later. */
const LATEST = 253_402_300_799;

/** What the service makes of one claim. `text` is safe in a quoted string of a header (RFC 9110 §5.6.4). */
interface Judgment {
  readonly claim: string;
  readonly isRight: boolean;
  readonly text: string;
}

/**
 * Judges each claim of a token, in the order in which they matter.
 * @param header that of a JWT (RFC 9068 §4); null: an introspection (RFC 7662 §2.2)
 * @param now seconds since 1970
 */
export function judgeClaims(
  header: Claims | null,
  claims: Claims,
  { issuers, audiences, namedAudiences, rules, mayLackAudience }: Expected,
  now: number,
): Judgment[] {
  const isJwt = header !== null;
  const judge = (claim: string, value: unknown, wrong: string | null): Judgment => ({
    claim,
    isRight: wrong === null,
    text: wrong ?? (given(value) ? `${shown(value)} is accepted` : 'none is accepted'),
  });
  const judgeName = (
    claim: string,
    mayLack: boolean,
    accepted: readonly string[],
    named: readonly string[],
  ) => {
    const value = claims[claim];
    // Only an audience can be a list (RFC 7519 §4.1).
    const names = claim === 'aud' ? [value].flat() : [value];
    const isRight =
      (mayLack && !given(value)) || names.some((each) => typeof each === 'string' && accepted.includes(each));
    const wrong = `its ${claim} is ${shown(value)}, and ${named.map(shown).join(' or ')} is expected`;
    return judge(claim, value, isRight ? null : wrong);
  };
  const { sub, cnf } = claims;
  const hasSubject = given(sub) ? typeof sub === 'string' && sub !== '' : !isJwt || rules.tokenType === 'any';
  const sign = signOfOther(header, claims, rules);
  return [
    ...(isJwt ? [judge('typ', header['typ'], wrongType(header, rules))] : []),
    judge('kind', 'this kind', sign === null ? null : `it is not an access token: ${sign}`),
    judgeName('iss', !isJwt, issuers, issuers.slice(0, 1)),
    judgeName('aud', !isJwt && mayLackAudience, audiences, namedAudiences),
    judge('sub', sub, hasSubject ? null : 'its sub is missing, or not a text'),
    ...(['exp', 'nbf', 'iat'] as const).map((claim) =>
      judge(claim, claims[claim], wrongTime(claim, claims[claim], isJwt, now)),
    ),
    // RFC 7800: a token that is bound to a key needs a proof of possession, and no proof is supported.
    judge('cnf', cnf, given(cnf) ? 'it is bound to a key, and no proof of that key is accepted' : null),
  ];
}

const given = (value: unknown): boolean => value !== undefined && value !== null;

/** A media type may lack `application/` (RFC 7515 §4.1.9). */
const typeOf = ({ typ }: Claims) =>
  typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;

function wrongType(header: Claims, { tokenType }: TokenRules): string | null {
  const type = typeOf(header);
  const isAny = tokenType === 'any';
  if (type === 'at+jwt' || (isAny && (type === undefined || type === 'jwt'))) return null;
  const accepted = isAny ? 'at+jwt, JWT or none is' : 'at+jwt is';
  const hint = type === 'jwt' ? ': see AUTH_PROVIDER and AUTH_TOKEN_TYPE' : '';
  return `its typ is ${shown(header['typ'])}, and ${accepted} expected${hint}`;
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

/** What shows that this is an ID token, a refresh token, a logout token or another one; null if it is an access token. */
function signOfOther(header: Claims | null, claims: Claims, rules: TokenRules): string | null {
  // The header of RFC 9068 says what it is.
  const isNamed = header !== null && typeOf(header) === 'at+jwt';
  if (isNamed && rules.tokenType === 'at+jwt') return null;
  const named = Object.entries(ACCESS_TOKENS).find(([claim, names]) => {
    const name = claims[claim];
    return given(name) && (typeof name !== 'string' || !names.test(name));
  });
  if (named !== undefined) return `its ${named[0]} is ${shown(claims[named[0]])}`;
  if (isNamed) return null;
  // Introspections repeat what is known about the sign-in.
  const foreign = header === null ? FOREIGN : rules.foreignClaims;
  const other = foreign.find((claim) => given(claims[claim]));
  if (other !== undefined) return `it has ${other}, as other tokens have`;
  if (header === null) return null;
  if (rules.mark !== null && !given(claims[rules.mark]))
    return `it has no ${rules.mark}, as access tokens have`;
  // ID tokens of Entra ID, Auth0, Okta and Hydra name their client as audience only.
  const hasClient = clientOf(claims, rules) !== null;
  return hasClient ? null : `it names no client (${rules.clientClaims.join(', ')})`;
}

/** @param isJwt whether `exp` is required */
function wrongTime(claim: 'exp' | 'nbf' | 'iat', time: unknown, isJwt: boolean, now: number): string | null {
  if (!given(time) && !(claim === 'exp' && isJwt)) return null;
  if (typeof time !== 'number' || !(time >= 0 && time <= LATEST))
    return `its ${claim} is ${shown(time)}, and seconds since 1970 are expected`;
  const at = new Date(time * 1000).toISOString();
  if (claim === 'exp') return time + CLOCK_TOLERANCE <= now ? `it has expired: its exp is ${at}` : null;
  return time - CLOCK_TOLERANCE > now ? `it is not valid yet: its ${claim} is ${at}` : null;
}

/** Values of a list, and characters of a value, that a message has. */
const MOST_SHOWN = 5;
const LONGEST_SHOWN = 200;

/** A value of a token in a message, bounded, in printable ASCII without the characters that end a quoted string. */
function shown(value: unknown): string {
  const texts = [value ?? 'missing'].flat().map((each: unknown) => {
    if (typeof each !== 'string' && typeof each !== 'number' && typeof each !== 'boolean') return 'an object';
    return String(each)
      .slice(0, LONGEST_SHOWN)
      .replace(/[^\x20-\x7e]|["\\]/g, '?');
  });
  return texts.length === 0 ? 'empty' : texts.slice(0, MOST_SHOWN).join(' and ');
}

/** Reads a token whose claims are right. */
export function readMeaning(claims: Claims, { rules, scopes }: Pick<Expected, 'rules' | 'scopes'>) {
  const subject = textOf(claims['sub']);
  const clientId = clientOf(claims, rules);
  const user = textOf(valueAt(claims, rules.userClaim));
  // A client that acts for itself is no user, even if a user has the same id: RFC 9068 §2.2, Auth0, Keycloak.
  const own =
    clientId === null ? [] : [clientId, `${clientId}@clients`, `service-account-${clientId.toLowerCase()}`];
  const isOfClient = [subject, user].some((each) => each !== null && own.includes(each));
  // With an underscore as in RFC 6749 §4.4.2, or with a hyphen as at Auth0.
  const isByGrant = [claims['gty'], claims['grant_type']].some((grant) =>
    /^client[_-]credentials$/.test(String(grant)),
  );
  // Anyone can enter the address of another person, and wait for nothing.
  const isAddress = rules.userField === 'email' || /(?:^|[./])e?mail$/i.test(rules.userClaim);
  const verified = claims['email_verified'] ?? true;
  const isUnverified = isAddress && verified !== true && verified !== 'true';
  const whyNoUser = isOfClient
    ? 'the token is of the client itself'
    : user === null
      ? `it has no ${rules.userClaim}`
      : isUnverified
        ? 'email_verified is false'
        : null;
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
