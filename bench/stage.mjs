// Everything that a run needs: the data, in all its forms, and everybody who answers.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillLargeDirectory } from '../test/support/builders/large-directory.mjs';
import { findFreePort } from '../test/support/servers/postgres.mjs';
import { findProgram } from '../test/support/servers/system-packages.mjs';
import { startHandWritten, startPostgraphile, whyNoPostgraphile } from './contenders/peers.mjs';
import { ask } from './contenders/contender.mjs';
import { contenderOf, makeSite, startProcess } from './contenders/service.mjs';
import { startSlapdContender } from './contenders/slapd.mjs';
import { fetchTokens, writeClients } from './contenders/tokens.mjs';
import { Cluster } from './data/cluster.mjs';
import { fillOrdinaryTables } from './data/ordinary-tables.mjs';
import { fillReadModel } from './data/read-model.mjs';
import { SIZES } from './data/sizes.mjs';
import { chooseSubjects, variablesFor } from './data/subjects.mjs';
import { QUESTIONS } from './questions.mjs';
import { withResources } from './resources.mjs';

/** People of the database with ten times the memberships who have a token. */
const FEW_TOKENS = 20;

/** @returns the stage: who answers, what about, with which tokens, and what could not take part */
export async function buildStage({ quick, preload = [] }, resources, tell) {
  const size = SIZES[quick ? 'quick' : 'full'];
  const directory = mkdtempSync(join(tmpdir(), 'directory-bench-'));
  chmodSync(directory, 0o755);
  resources.defer(() => rmSync(directory, { recursive: true, force: true }));
  const cluster = await tell('PostgreSQL', () => Cluster.start(join(directory, 'postgres'), resources));
  const house = { directory, cluster, resources, tell, preload, signingKey: randomBytes(32).toString('hex') };

  const main = await openDirectory(house, 'directory', size.directory, size.tokens);
  await tell('the same in ordinary tables', () => fillOrdinaryTables(main.connection));
  await tell('the same in the read model', () => fillReadModel(main.connection));
  const more = await openDirectory(house, 'more', size.more, FEW_TOKENS);

  const missing = [];
  const contenders = await tell('the contenders', () => startContenders(house, main, more, missing));
  const slapd = await tell('the same in slapd', () => startSlapd(house, main, missing));
  return { cluster, contenders, slapd, main, more, missing };
}

async function startSlapd({ directory, resources }, { connection }, missing) {
  if (findProgram('slapd') !== null) return startSlapdContender(directory, connection, resources);
  missing.push('slapd did not take part: it is not installed.');
  return null;
}

/** A database with the directory, a process of the service on it, and the tokens of some people. */
async function openDirectory(house, name, size, count) {
  const { directory, cluster, resources, tell, signingKey, preload } = house;
  const { url, connection } = await cluster.create(name);
  const clientsFile = join(directory, `${name}-clients.json`);
  const site = await makeSite({ databaseUrl: url, clientsFile, signingKey });

  // The service makes its tables itself.
  writeClients(clientsFile, []);
  await withProcess(site, () => undefined);
  await tell(`${size.people} people, ${size.groups} groups of ${size.members}`, () =>
    fillLargeDirectory((text) => connection.query(text), size),
  );
  const subjects = await chooseSubjects(connection);
  const known = subjects.people.slice(0, count);
  writeClients(clientsFile, known);
  // A provider of one's own is for development: the process that is measured has not been one.
  const people = await tell(`${count} tokens`, () => withProcess(site, () => fetchTokens(site.port, known)));
  const process = await startProcess(site, resources, { preload });
  return { url, connection, site, process, subjects, variables: variablesFor(subjects), people };
}

/** Does something while a process of the service runs. */
async function withProcess(site, work) {
  return withResources(async (resources) => {
    await startProcess(site, resources);
    return work();
  });
}

/** Everybody who answers over HTTP, by name. */
async function startContenders({ directory, resources, preload, signingKey }, main, more, missing) {
  const another = async ({ site }, options = {}) =>
    startProcess(site, resources, { port: await findFreePort(), ...options });
  const contenders = [
    contenderOf('service', [main.process]),
    contenderOf('forgetful', [await another(main, { forgetful: true, preload })]),
    contenderOf('twice', [await another(main), await another(main)]),
    contenderOf('more', [await another(more, { forgetful: true })]),
  ];
  const stage = { ...(await peersSettings(directory, main)), signingKey, resources, preload };
  for (const tables of ['ordinary', 'read-model']) contenders.push(await startHandWritten(stage, tables));
  const reason = whyNoPostgraphile();
  if (reason !== null) missing.push(`PostGraphile did not take part: ${reason}.`);
  else
    for (const tables of ['ordinary', 'read-model']) contenders.push(await startPostgraphile(stage, tables));
  return new Map(contenders.map((contender) => [contender.name, contender]));
}

async function peersSettings(directory, { url, site, people }) {
  const tokensFile = join(directory, 'tokens.json');
  writeFileSync(tokensFile, JSON.stringify(Object.fromEntries(people.map(({ token, id }) => [token, id]))));
  const { buildInfo } = await ask(site.port, { query: QUESTIONS.build.query }, people[0].token);
  return { databaseUrl: url, tokensFile, baseUrl: site.baseUrl, build: buildInfo };
}
