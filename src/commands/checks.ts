import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { ZodError } from 'zod';
import { ExternalIssuer } from '../auth/tokens/issuer.js';
import { codeOf, type Finding, ok, problem, warning } from '../common/finding.js';
import { hostOf, isLoopback } from '../common/url.js';
import { type Config, ConfigError, configProblems } from '../config/config.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import type { RedisConfig } from '../config/settings/service.js';
import { readClients } from '../identity-provider/clients.js';
import { checkDirectory, checkFile } from '../mirror/check/check-directory.js';
import { entriesRead, type Show } from './progress.js';
import { checkDatabase } from './check-database.js';

/** Checks everything that the settings name. A failed check does not prevent the other checks. */
export async function runChecks(config: Config, show: Show): Promise<Finding[]> {
  const { auth, redis } = config;
  const findings = await checkDirectorySource(config.directory, show);
  if (config.trustedDocuments !== null) {
    show('Checking the trusted documents');
    findings.push(...(await checkDocuments(config)));
  }
  show('Checking the database');
  findings.push(...(await checkDatabase(config)));
  if (redis !== null) {
    show('Looking at Redis');
    findings.push(await checkRedis(redis));
  }
  if (auth.issuer === null) findings.push(...checkClients(config));
  else {
    show('Checking the identity provider');
    findings.push(...(await checkIssuer(config, auth.issuer)));
  }
  return [...findings, describeSigningKeys(config)];
}

async function checkDirectorySource(config: DirectoryConfig, show: Show): Promise<Finding[]> {
  const { source } = config;
  const progress = (entries: number) => {
    show(`Checking the directory: ${entriesRead(entries)}`);
  };
  show('Checking the directory');
  if (source.kind === 'ldap') return checkDirectory(config, source, new AbortController().signal, progress);
  const isThere = await access(source.file).then(
    () => true,
    () => false,
  );
  return isThere
    ? checkFile(config, source, progress)
    : [problem('directory file', `it cannot be read: ${source.file}`)];
}

/** Validates the documents of TRUSTED_DOCUMENTS, as a start does. */
async function checkDocuments(config: Config): Promise<Finding[]> {
  const [{ buildServedSchema }, { TrustedDocuments }] = await Promise.all([
    import('../schema.js'),
    import('../graphql/http/persisted-documents.js'),
  ]);
  const what = 'trusted documents';
  const schema = await buildServedSchema(config);
  try {
    new TrustedDocuments(config).check(schema);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((each) => problem(what, each));
    throw error;
  }
  return [ok(what, String(config.trustedDocuments?.documents.size))];
}

async function checkRedis(config: RedisConfig): Promise<Finding> {
  const { SharedCounts } = await import('../limits/shared-counts.js');
  const failure = await new SharedCounts(config).examine();
  if (failure === null) return ok('Redis', `keys begin with ${config.prefix}:`);
  return warning('Redis', `${failure}; until it is there, each process keeps the limits on its own`);
}

function checkClients({ auth, scopes }: Config): Finding[] {
  const what = 'clients of the embedded identity provider';
  const problems = configProblems(() => readClients(auth.embeddedClients, scopes));
  return problems.length === 0 ? [ok(what)] : problems.map((each) => problem(what, each));
}

async function checkIssuer({ auth }: Config, url: string): Promise<Finding[]> {
  const issuer = new ExternalIssuer(url, auth);
  const keys = await checkBy('identity provider', url, () => issuer.fetchKeys());
  const findings = [...describeEncryption(auth, url), keys];
  if (auth.introspection === null || keys.result !== 'ok') return findings;
  // The service never issued this token. An issuer that accepts the client reports the token as not active.
  return [...findings, await checkBy('introspection', null, () => issuer.introspect(randomUUID()))];
}

/** An attacker who replaces keys in transit can sign accepted tokens, and sees tokens and the client secret. */
function describeEncryption({ introspection }: Config['auth'], issuer: string): Finding[] {
  const named: [name: string, url: string | null][] = [
    ['AUTH_URL', issuer],
    ['AUTH_INTROSPECTION_URL', introspection?.url ?? null],
  ];
  return named.flatMap(([name, value]) => {
    const url = value === null ? null : new URL(value);
    if (url?.protocol !== 'http:' || isLoopback(hostOf(url))) return [];
    const reason = `${name} is plain http: keys and tokens cross the network to ${url.host} unencrypted`;
    return [warning('encryption of the identity provider', reason)];
  });
}

async function checkBy(what: string, text: string | null, ask: () => Promise<unknown>): Promise<Finding> {
  try {
    await ask();
    return ok(what, text);
  } catch (error) {
    return problem(what, [text, reasonOf(error)].filter((part) => part !== null).join(': '), codeOf(error));
  }
}

/** Returns the message of the innermost cause. The outer errors name only the peer. */
function reasonOf(error: unknown): string {
  if (error instanceof ZodError) return 'its answer is not what an OpenID provider says';
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  // The message is empty when a host name has several addresses and none of them responds.
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message;
}

function describeSigningKeys({ urlSigningKeys, production }: Config): Finding {
  const what = 'signing keys';
  if (urlSigningKeys !== null) {
    const count = urlSigningKeys.length;
    return ok(what, count === 1 ? 'one' : `${count}, of which the first signs`);
  }
  const text = 'none is set: the service generates one, and keeps it in the database';
  return production ? warning(what, text) : ok(what, text);
}
