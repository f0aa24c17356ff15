// Starts everything that a run needs: PostgreSQL with the data in all its forms, and the contenders.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillLargeDirectory } from './data/large-mirror.mjs';
import { findFreePort } from '../test/support/servers/postgres.mjs';
import { findProgram } from '../test/support/servers/system-packages.mjs';
import {
  findNewerNode,
  startHandWritten,
  startPostgraphile,
  whyNoPostgraphile,
} from './contenders/peers.mjs';
import { execute } from './contenders/contender.mjs';
import { contenderOf, makeSite, startProcess } from './contenders/service.mjs';
import { startSlapdContender } from './contenders/slapd.mjs';
import { fetchTokens, writeClients } from './contenders/tokens.mjs';
import { Cluster } from './data/cluster.mjs';
import { hideUsers, noteRules, writeRules } from './data/hidden-users.mjs';
import { fillOrdinaryTables } from './data/ordinary-tables.mjs';
import { fillCustomFields, writeBuiltInModel, writeModel } from './data/custom-fields.mjs';
import { fillReadModel } from './data/read-model.mjs';
import { SIZES } from './data/sizes.mjs';
import { chooseSubjects, variablesFor } from './data/subjects.mjs';
import { QUERIES } from './queries.mjs';
import { withResources } from './resources.mjs';

/** Processes whose processor time is compared with that of other processes: equal ones differ by up to a tenth. */
const EQUAL_PROCESSES = 3;
/** Tokens for the database with ten times the memberships. */
const FEW_TOKENS = 20;

/** @returns the contenders, the directories with tokens of their users, and the reasons why contenders are missing */
export async function buildStage({ quick, preload = [] }, resources, runStep) {
  const size = SIZES[quick ? 'quick' : 'full'];
  const context = await startCluster({ preload }, resources, runStep);
  const { directory, cluster } = context;

  const main = await openDirectory(context, 'directory', size.directory, size.tokens);
  await runStep('ordinary tables', () => fillOrdinaryTables(main.connection));
  await runStep('read model', () => fillReadModel(main.connection));
  const more = await openDirectory(context, 'more_memberships', size.more, FEW_TOKENS);

  const own = await openDirectory(context, 'own_fields', size.directory, FEW_TOKENS);
  await runStep('custom fields', () => fillCustomFields(own.connection, writeModel(context.directory)));

  const hidden = await openDirectory(context, 'hidden_users', size.directory, FEW_TOKENS);
  await runStep('hidden users', () => hideUsers(hidden.connection));
  const rules = writeRules(directory);
  for (const { connection } of [main, hidden]) await noteRules(connection, rules);

  const missing = [];
  const contenders = await runStep('contenders', () =>
    startContenders(context, { main, more, own, hidden }, missing),
  );
  const slapd = await runStep('slapd', () => startSlapd(context, main, missing));
  return { cluster, contenders, slapd, main, more, own, hidden, missing };
}

/** Starts PostgreSQL. @returns what directories are opened with */
export async function startCluster({ preload = [] }, resources, runStep) {
  const directory = mkdtempSync(join(tmpdir(), 'directory-bench-'));
  chmodSync(directory, 0o755);
  resources.defer(() => rmSync(directory, { recursive: true, force: true }));
  const cluster = await runStep('PostgreSQL', () => Cluster.start(join(directory, 'postgres'), resources));
  const signingKey = randomBytes(32).toString('hex');
  return { directory, cluster, resources, runStep, preload, signingKey };
}

async function startSlapd({ directory, resources }, { connection }, missing) {
  if (findProgram('slapd') !== null) return startSlapdContender(directory, connection, resources);
  missing.push('slapd is missing: it is not installed.');
  return null;
}

/** Creates a database with the directory, a process of the service on it, and tokens of `count` users. */
export async function openDirectory(context, name, size, count) {
  const { directory, cluster, resources, runStep, signingKey, preload, cacheOff = false } = context;
  const { url, connection } = await cluster.create(name);
  const clientsFile = join(directory, `${name}-clients.json`);
  const site = await makeSite({
    databaseUrl: url,
    clientsFile,
    signingKey,
    model: writeBuiltInModel(directory),
  });

  // The service creates its tables.
  writeClients(clientsFile, []);
  await withProcess(site, () => undefined);
  await runStep(`${size.people} people, ${size.groups} groups of ${size.members}`, () =>
    fillLargeDirectory((text) => connection.query(text), size),
  );
  const subjects = await chooseSubjects(connection);
  const owners = subjects.people.slice(0, count);
  writeClients(clientsFile, owners);
  // The process that issued the tokens is not the process that is measured.
  const people = await runStep(`${count} tokens`, () =>
    withProcess(site, () => fetchTokens(site.port, owners)),
  );
  const process = await startProcess(site, resources, { preload, cacheOff });
  return { url, connection, site, process, subjects, variables: variablesFor(subjects), people };
}

/** Runs a function while a process of the service is running. */
async function withProcess(site, work) {
  return withResources(async (resources) => {
    await startProcess(site, resources);
    return work();
  });
}

/** Starts the contenders that respond over HTTP. @returns contenders by name */
async function startContenders({ directory, resources, preload, signingKey }, stages, missing) {
  const { main, more, own, hidden } = stages;
  const another = async ({ site }, options = {}) =>
    startProcess(site, resources, { port: await findFreePort(), preload, ...options });
  const several = async (stage, options = {}) => {
    const processes = [];
    for (let count = 0; count < EQUAL_PROCESSES; count++)
      processes.push(await another(stage, { cacheOff: true, ...options }));
    return processes;
  };
  const contenders = [
    contenderOf('service', [main.process]),
    contenderOf('cache-off', [await another(main, { cacheOff: true })]),
    contenderOf('log-off', [await another(main, { logsRequests: false })]),
    contenderOf('two-processes', [await another(main), await another(main)]),
    // Like those below, they respond to nothing but Q1: a process that has responded to more is compiled further.
    contenderOf('plain', await several(main)),
    contenderOf('more-memberships', await several(more)),
    contenderOf('hidden-users', await several(hidden, { model: writeRules(directory) })),
    contenderOf('unmatched-rules', await several(main, { model: writeRules(directory) })),
    // One, because its queries are compared with each other. Several processes share the connections, and none is busy.
    contenderOf('custom-fields', [await another(own, { cacheOff: true, model: writeModel(directory) })]),
  ];
  const node = findNewerNode();
  if (node === null) missing.push('A newer Node.js is missing.');
  else contenders.push(contenderOf('newer-node', [await another(main, { node })]));
  const stage = { ...(await peersSettings(directory, main)), signingKey, resources, preload };
  for (const tables of ['ordinary', 'index-order', 'read-model'])
    contenders.push(await startHandWritten(stage, tables));
  const reason = whyNoPostgraphile();
  if (reason !== null) missing.push(`PostGraphile is missing: ${reason}.`);
  else
    for (const tables of ['ordinary', 'read-model']) contenders.push(await startPostgraphile(stage, tables));
  return new Map(contenders.map((contender) => [contender.name, contender]));
}

async function peersSettings(directory, { url, site, people }) {
  const tokensFile = join(directory, 'tokens.json');
  writeFileSync(tokensFile, JSON.stringify(Object.fromEntries(people.map(({ token, id }) => [token, id]))));
  const { buildInfo } = await execute(site.port, { query: QUERIES.build.query }, people[0].token);
  return { databaseUrl: url, tokensFile, baseUrl: site.baseUrl, build: buildInfo };
}
