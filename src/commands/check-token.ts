import { readFileSync } from 'node:fs';
import { createLocalJWKSet, decodeJwt } from 'jose';
import { findUser } from '../auth/token-users.js';
import { expectedOf, findWrongClaim, readMeaning } from '../auth/tokens/claims.js';
import { ExternalIssuer } from '../auth/tokens/issuer.js';
import { headerOf, rejectionReason, verifySignature } from '../auth/tokens/token-verifier.js';
import { type Finding, ok, problem, warning } from '../common/finding.js';
import type { Config } from '../config/config.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { Database } from '../database/database.js';
import { withDatabase } from './context.js';

/**
 * Explains what the service makes of a token: the first wrong claim, and what the others mean. Neither the token nor its signature is part of a finding.
 * @param file the name of a file, or «-» for standard input
 */
export async function checkToken(config: Config, file: string): Promise<Finding[]> {
  const { issuer } = config.auth;
  if (issuer === null) return [problem('token', 'AUTH_URL is empty: no external issuer is configured')];
  // No header of HTTP is longer.
  const [, token] =
    /^\s*(?:bearer\s+)?(\S{1,16384})\s*$/i.exec(readFileSync(file === '-' ? 0 : file, 'latin1')) ?? [];
  if (token === undefined) return [problem('token', `there is no token in ${file}`)];
  const expected = expectedOf(config);
  const external = new ExternalIssuer(issuer, config.auth);
  try {
    const header = headerOf(token);
    const claims = header === null ? await introspected(external, token) : decodeJwt(token);
    const { kind, clientId, user, whyNoUser, scopes } = readMeaning(claims, expected);
    const wrong = findWrongClaim(header, claims, expected, Date.now() / 1000);
    return [
      wrong === null ? ok('token: claims', 'all are accepted') : problem('token: claims', wrong),
      ...(header === null ? [] : [await checkSignature(external, token)]),
      ok('token: kind of principal', kind),
      clientId === null ? warning('token: client', 'it names no client') : ok('token: client', clientId),
      scopes.length === 0
        ? warning('token: scopes', 'none that the service has: see AUTH_SCOPE_CLAIM')
        : ok('token: scopes', scopes.join(' ')),
      user === null ? warning('token: user', `none: ${whyNoUser ?? ''}`) : await checkUser(config, user),
    ];
  } catch (error) {
    return [problem('token', `it cannot be verified: ${reasonOf(error)}`)];
  }
}

/** An opaque token has no header. */
async function introspected(external: ExternalIssuer, token: string) {
  if (external.config.introspection === null)
    throw new Error('it is not a JWT, and AUTH_INTROSPECTION_CLIENT_ID is not set');
  const { active, ...claims } = await external.introspect(token);
  if (!active) throw new Error('the introspection says that it is not active');
  return claims;
}

async function checkSignature(external: ExternalIssuer, token: string): Promise<Finding> {
  const keys = createLocalJWKSet(await external.fetchKeys());
  return verifySignature(token, keys).then(
    () => ok('token: signature', 'by a key of the issuer'),
    (error: unknown) => problem('token: signature', rejectionReason(error)),
  );
}

async function checkUser(config: Config, value: string): Promise<Finding> {
  const { userClaim, userField } = config.auth.rules;
  const what = 'token: user';
  const said = `${userClaim} is ${value}, which`;
  const find = (dataSource: DirectoryDataSource) => findUser(new Database(dataSource), config, value);
  try {
    const id = await withDatabase(config, find, { migrates: false });
    if (id !== null) return ok(what, `${said} is the ${userField} of ${id}`);
    return warning(what, `${said} is the ${userField} of no user, or of several`);
  } catch {
    const looked = `the service looks up as ${userField}: the database cannot be read from here`;
    return warning(what, `${said} ${looked}`);
  }
}

/** Messages of jose can contain parts of the token. */
function reasonOf(error: unknown): string {
  const isOfJose = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J');
  if (isOfJose || !(error instanceof Error)) return rejectionReason(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
