import { access } from 'node:fs/promises';
import { ExternalIssuer } from '../auth/external-issuer.js';
import { type Finding, ok, problem, warning } from '../common/finding.js';
import { type Config, ConfigError } from '../config/config.js';
import type { DirectoryConfig } from '../config/directory.js';
import type { RedisConfig } from '../config/redis.js';
import { ClientsFileError, readClients } from '../identity-provider/clients.js';
import { examineDirectory } from '../sources/examine.js';
import { openSource } from '../sources/open-source.js';
import { lookAtDatabase } from './look-at-database.js';

/** Looks at everything that the settings name. Nothing that is wrong keeps the rest from being looked at. */
export async function look(config: Config): Promise<Finding[]> {
  return [
    ...(await lookAtDirectory(config.directory)),
    ...(await lookAtDatabase(config)),
    ...(config.redis === null ? [] : [await lookAtRedis(config.redis)]),
    ...(config.auth.issuer === null
      ? lookAtClients(config)
      : [await lookAtIssuer(config, config.auth.issuer)]),
    describeSigningKeys(config),
  ];
}

async function lookAtDirectory(config: DirectoryConfig): Promise<Finding[]> {
  const { source } = config;
  const mistakes = mistakesIn(config);
  if (source.kind === 'file') {
    const isThere = await access(source.file).then(
      () => true,
      () => false,
    );
    const what = 'directory file';
    return [isThere ? ok(what) : problem(what, `it cannot be read: ${source.file}`), ...mistakes];
  }
  // With a filter or a base that is none, nothing can be asked.
  if (mistakes.length > 0) return mistakes;
  return examineDirectory(config, source, new AbortController().signal);
}

function mistakesIn(config: DirectoryConfig): Finding[] {
  try {
    openSource(config);
    return [];
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((each) => problem('directory settings', each));
    throw error;
  }
}

async function lookAtRedis(config: RedisConfig): Promise<Finding> {
  const { SharedCounts } = await import('../limits/shared-counts.js');
  const failure = await new SharedCounts(config).examine();
  if (failure === null) return ok('Redis', `keys begin with ${config.prefix}:`);
  return warning('Redis', `${failure}; until it is there, each process keeps the limits on its own`);
}

function lookAtClients(config: Config): Finding[] {
  const what = 'clients of the embedded identity provider';
  try {
    readClients(config.auth.embeddedClients);
    return [ok(what)];
  } catch (error) {
    if (error instanceof ClientsFileError) return error.problems.map((each) => problem(what, each));
    throw error;
  }
}

async function lookAtIssuer(config: Config, issuer: string): Promise<Finding> {
  const what = 'identity provider';
  try {
    await new ExternalIssuer(issuer, config.auth.introspection).fetchKeys();
    return ok(what, issuer);
  } catch {
    return problem(what, `no keys can be had from ${issuer}`);
  }
}

function describeSigningKeys({ urlSigningKeys, production }: Config): Finding {
  const what = 'signing keys';
  if (urlSigningKeys !== null) {
    const count = urlSigningKeys.length;
    return ok(what, count === 1 ? 'one' : `${count}, of which the first signs`);
  }
  const text = 'none is set: one was generated, and is kept in the database';
  return production ? warning(what, text) : ok(what, text);
}
