// How soon a change of a directory is visible to a client: npm run bench:live [-- openldap 389ds samba] [--users 100000]
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'ldapts';
import { change, groupDn, groupId, personDn, personId, startDirectory } from './directory.mjs';
import { LoadProcess } from './load-process.mjs';
import { makeWorkDirectory, runCommand, runStep } from './processes.mjs';
import { QUERIES } from './queries.mjs';
import { goalTable, writeSection } from './report.mjs';
import { median, readOptions } from './rounds.mjs';
import { Issuer, Service } from './service.mjs';

const USUAL_USERS = 100_000;
/** Users of the small directories of other servers. */
const FEW = 200;
const RENAMES = 200;
const RENAMES_OF_OTHERS = 60;
const JOINS = 50;
const LARGE_JOINS = 10;
/** Milliseconds between two changes, at least and at most: they come at any time between two requests to the server. */
const PAUSE_MS = [100, 400];
/** Milliseconds after the first load until changes are timed. */
const SETTLE_MS = 10_000;
/** The share of the requests that the service can answer. */
const LOAD = 0.7;
const CAPACITY_SECONDS = 5;

const { values, positionals } = readOptions({ users: { type: 'string', default: String(USUAL_USERS) } });
const users = Number(values.users);
/** Sizes of the groups that get one member more, in a directory of the usual size. */
const LARGE = { thousand: 1_000, 'twenty-thousand': Math.min(20_000, users - 1000) };

/** Makes changes one after the other. @param make makes one, and resolves when it is visible. @returns the milliseconds of each */
async function timeChanges(count, make) {
  const latencies = [];
  for (let turn = 0; turn < count; turn++) {
    const begun = performance.now();
    latencies.push(await make(turn, begun));
    await sleep(PAUSE_MS[0] + (PAUSE_MS[1] - PAUSE_MS[0]) * ((turn * 0.618) % 1));
  }
  return latencies;
}

function quantile(latencies, share) {
  const sorted = [...latencies].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Renames users. @param dnOf the DN of a user by number */
function timeRenames({ service, token, client, dnOf }, count, among) {
  return timeChanges(count, async (turn, begun) => {
    const number = (turn * 7919) % among;
    const name = `Renamed ${turn} ${begun}`;
    await change(client, dnOf(number), 'replace', 'displayName', name);
    const query = `{ user(user: {id: "${personId(number)}"}) { name } }`;
    return service.until(begun, query, token, ({ user }) => user?.name === name);
  });
}

/** One user joins and leaves a group in turn. */
function timeMember({ service, token, client }, group, count) {
  const number = users - 1;
  const query = `{ isMember(user: {id: "${personId(number)}"}, group: {id: "${group}"}) }`;
  return timeChanges(count, async (turn, begun) => {
    const joins = turn % 2 === 0;
    await change(client, groupDn(group), joins ? 'add' : 'delete', 'member', personDn(number));
    return service.until(begun, query, token, ({ isMember }) => isMember === joins);
  });
}

/** Renames while the service answers most of the requests that it can. */
async function timeRenamesUnderLoad(place, issuer, resources) {
  const { service } = place;
  const load = new LoadProcess(resources);
  const tokens = await issuer.tokensOf([0, 1, 2, 3].map(personId));
  const variables = Array.from({ length: 40 }, (_, number) => JSON.stringify({ id: groupId(number) }));
  await load.prepare('members', { query: QUERIES.members.query, variables, tokens, port: service.port });
  await load.run('members', { seconds: CAPACITY_SECONDS });
  const { requests, seconds } = await load.run('members', { seconds: CAPACITY_SECONDS });
  const rate = (LOAD * requests) / seconds;
  let isOver = false;
  const sending = (async () => {
    while (!isOver) await load.run('members', { seconds: 1, rate });
  })();
  const renaming = timeRenames(place, RENAMES / 2, users).finally(() => {
    isOver = true;
  });
  const [latencies] = await Promise.all([renaming, sending]);
  return latencies;
}

async function measureOpenldap(issuer, work, resources) {
  const { settings, client } = await startDirectory(resources, work, users, { large: LARGE });
  const service = await startService(settings, issuer, work, resources);
  const place = { service, client, token: await issuer.tokenOf(personId(0)), dnOf: personDn };
  await timeRenames(place, 20, users);
  const renames = await runStep('changed users', () => timeRenames(place, RENAMES, users));
  const loaded = await runStep('changed users under load', () =>
    timeRenamesUnderLoad(place, issuer, resources),
  );
  const joins = await runStep('a group of 1,000', () => timeMember(place, 'thousand', JOINS));
  const large = await runStep('a group of 20,000', () => timeMember(place, 'twenty-thousand', LARGE_JOINS));
  const size = `${users.toLocaleString('en')} users`;
  return [
    [`OpenLDAP, ${size}: a changed user, median ms`, null, 60, median(renames)],
    ['… 99th percentile', null, 250, quantile(renames, 0.99)],
    ['… while it answers 70 % of the requests that it can, median ms', null, 80, median(loaded)],
    ['… 99th percentile', null, 250, quantile(loaded, 0.99)],
    ['… a member of a group of 1,000, median ms', null, 120, median(joins)],
    ['… a member of a group of 20,000, longest ms', null, 2000, Math.max(...large)],
  ];
}

async function startService(settings, issuer, work, resources) {
  const database = { DATABASE_URL: `embedded:${join(work, 'database')}` };
  const service = await runStep('first load', () =>
    Service.start(resources, { ...settings, ...issuer.settings, ...database }),
  );
  await sleep(SETTLE_MS);
  return service;
}

/** The servers of the tests are TypeScript. */
const importTest = (path) => import(`../test/${path}.ts`);
const numbers = Array.from({ length: FEW }, (_, number) => number);

/** @returns the server, its users as change records, and what differs from OpenLDAP */
const OTHERS = {
  async samba() {
    const { ADMINISTRATOR, AD_SUFFIX, TestSamba } = await importTest('support/servers/samba');
    const server = await TestSamba.start();
    const people = `OU=People,${AD_SUFFIX}`;
    const dnOf = (number) => `CN=${personId(number)},${people}`;
    const records = [
      `dn: ${people}\nchangetype: add\nobjectClass: organizationalUnit\n`,
      await documented('Samba and Active Directory'),
      ...numbers.map(
        (number) =>
          `dn: ${dnOf(number)}\nchangetype: add\nobjectClass: user\nsAMAccountName: ${personId(number)}\nuserAccountControl: 544\n`,
      ),
    ];
    const settings = {
      DIRECTORY_URL: `ldaps://${server.host}`,
      DIRECTORY_BASE_DN: AD_SUFFIX,
      DIRECTORY_BIND_DN: `CN=mirror,CN=Users,${AD_SUFFIX}`,
      DIRECTORY_BIND_PASSWORD: 'Read-only-1',
    };
    return { server, records, settings, dnOf, account: ADMINISTRATOR };
  },

  async '389ds'() {
    const { MANAGER, TestDirectory389 } = await importTest('support/servers/directory-389');
    const server = await TestDirectory389.start();
    const suffix = 'dc=example,dc=org';
    const records = [
      ...['people', 'groups'].map(
        (name) => `dn: ou=${name},${suffix}\nchangetype: add\nobjectClass: organizationalUnit\n`,
      ),
      await documented('389 Directory Server'),
      ...numbers.map(
        (number) =>
          `dn: ${personDn(number)}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${personId(number)}\ncn: ${number}\nsn: ${number}\n`,
      ),
    ];
    const settings = {
      DIRECTORY_URL: `ldaps://127.0.0.1:${server.tlsPort}`,
      DIRECTORY_BASE_DN: suffix,
      DIRECTORY_BIND_DN: `cn=mirror,${suffix}`,
      DIRECTORY_BIND_PASSWORD: 'mirror-secret',
    };
    return { server, records, settings, dnOf: personDn, account: MANAGER };
  },
};

/** The change records of a section of docs/ldap.md, which make the account of the service. */
async function documented(section) {
  const { documentedRecords } = await importTest('ldap/behaviors/documented-records');
  return documentedRecords(section);
}

async function measureOther(name, issuer, work, resources) {
  process.env.TEST_WORK_DIRECTORY = work;
  const { server, records, settings, dnOf, account } = await OTHERS[name]();
  resources.defer(() => server.remove());
  const { code, stderr } = await server.modify(records.join('\n'));
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  const authority = join(work, 'authority.pem');
  writeFileSync(authority, server.ca);
  const client = new Client({ url: settings.DIRECTORY_URL, tlsOptions: { ca: [server.ca] } });
  await client.bind(account.dn, account.password);
  const service = await startService({ ...settings, DIRECTORY_CA_FILE: authority }, issuer, work, resources);
  const place = { service, client, token: await issuer.tokenOf(personId(0)), dnOf };
  await timeRenames(place, 5, FEW);
  return runStep('changed users', () => timeRenames(place, RENAMES_OF_OTHERS, FEW));
}

const PARTS = {
  openldap: measureOpenldap,
  async samba(...place) {
    const latencies = await measureOther('samba', ...place);
    return [
      [`Samba, ${FEW} users: a changed user, median ms`, null, 60, median(latencies)],
      ['… 99th percentile', null, 250, quantile(latencies, 0.99)],
    ];
  },
  async '389ds'(...place) {
    const latencies = await measureOther('389ds', ...place);
    return [[`389 Directory Server, ${FEW} users: a changed user, median ms`, null, 800, median(latencies)]];
  },
};

await runCommand(async (resources) => {
  const unknown = positionals.find((name) => PARTS[name] === undefined);
  if (unknown !== undefined) throw new Error(`The servers are ${Object.keys(PARTS).join(', ')}`);
  const issuer = await Issuer.start(resources);
  const names = positionals.length === 0 ? Object.keys(PARTS) : positionals;
  const goals = [];
  for (const name of names) {
    console.log(name);
    const measure = (own) => PARTS[name](issuer, makeWorkDirectory(own), own);
    goals.push(...(await resources.within(measure)));
  }
  await writeSection({
    title: 'Changes of the directory',
    parts: [
      `\`npm run bench:live\`: the time from the beginning of a modify request until a client of the service sees its change, one change at a time. One process, with its embedded database.`,
      goalTable(goals),
    ],
    isUsual: users === USUAL_USERS && names.length === Object.keys(PARTS).length,
  });
});
