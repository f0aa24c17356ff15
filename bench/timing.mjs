// Tests whether response times reveal anything about a secret: `npm run timing [-- --samples NUMBER]`. It is not part of the
// tests, because other load on the machine distorts it. docs/authentication.md has the result.
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './child.mjs';
import { makeSite, startProcess } from './contenders/service.mjs';
import { Cluster } from './data/cluster.mjs';
import { HttpConnection } from './load/http-connection.mjs';
import { compareTimes, THRESHOLD } from './measure/welch.mjs';
import { Interruption, withResources } from './resources.mjs';

const { values } = parseArgs({ options: { samples: { type: 'string', default: '20000' } } });
/** Measurements of each class. */
const SAMPLES = Number(values.samples);
const WARM_UP = 3000;
/** Rejections are delayed: with few concurrent requests they do not wait for each other. */
const CONNECTIONS = 4;
/** Comparisons per measurement, because one comparison is shorter than the resolution of the clock. */
const BATCH = 100;

const KNOWN = 'known-account';
const UNKNOWN = 'other-account';
const CLIENT = 'known-client';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const newSecret = () => Buffer.from(`dirsa_${randomBytes(32).toString('base64url')}`).toString('latin1');

/** Returns a secret that differs in one character. It is built from bytes, because V8 joins concatenated strings lazily. */
function wrongAt(secret, place) {
  const bytes = Buffer.from(secret);
  const letters = [...LETTERS].filter((letter) => letter !== secret[place]);
  bytes[place] = letters[randomInt(letters.length)].charCodeAt(0);
  return bytes.toString('latin1');
}

const atFirst = (secret) => wrongAt(secret, 0);
const atLast = (secret) => wrongAt(secret, secret.length - 1);

function request(path, id, secret, type, body) {
  const lines = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    `content-type: ${type}`,
    `content-length: ${body.length}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

const asAccount = (id, secret) =>
  request('/graphql/v1', id, secret, 'application/json', '{"query":"{ __typename }"}');
const asClient = (id, secret) =>
  request('/oauth2/token', id, secret, 'application/x-www-form-urlencoded', 'grant_type=client_credentials');

/** Pairs of requests whose response times must not differ. */
function pairsOf(secret) {
  return [
    [
      'a secret of a service account, wrong in the first or in the last byte',
      [() => asAccount(KNOWN, atFirst(secret)), () => asAccount(KNOWN, atLast(secret))],
    ],
    [
      'a wrong secret of a service account, unknown or known',
      [() => asAccount(UNKNOWN, newSecret()), () => asAccount(KNOWN, newSecret())],
    ],
    [
      'a secret of a client, wrong in the first or in the last byte',
      [() => asClient(CLIENT, atFirst(secret)), () => asClient(CLIENT, atLast(secret))],
    ],
  ];
}

/** Sends requests of both classes in random order, so that other load on the machine affects both. */
async function timeRequests(port, makers, samples) {
  const times = [[], []];
  await Promise.all(Array.from({ length: CONNECTIONS }, () => timeConnection(port, makers, samples, times)));
  return times;
}

async function timeConnection(port, makers, samples, times) {
  let answered;
  const connection = new HttpConnection(
    port,
    (answer) => answered.resolve(answer),
    (error) => answered.reject(error),
  );
  while (Math.min(times[0].length, times[1].length) < samples) {
    const chosen = randomInt(2);
    const text = makers[chosen]();
    answered = newPromise();
    const startedAt = process.hrtime.bigint();
    connection.send(text);
    const answer = await answered.promise;
    times[chosen].push(Number(process.hrtime.bigint() - startedAt) / 1000);
    const status = answer.latin1Slice(9, 12);
    if (status !== '401') throw new Error(`The status for a wrong secret is ${status}`);
  }
  connection.close();
}

function newPromise() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** Measures the comparison without a request, in batches. */
async function timeComparison(makers) {
  const times = [[], []];
  while (Math.min(times[0].length, times[1].length) < SAMPLES) {
    const chosen = randomInt(2);
    const [compare, secrets] = makers[chosen]();
    const startedAt = process.hrtime.bigint();
    for (const secret of secrets) compare(secret);
    times[chosen].push(Number(process.hrtime.bigint() - startedAt) / 1000 / BATCH);
  }
  return times;
}

async function comparisonsOf(secret) {
  const { hashSecret, isOneOf } = await import('../dist/service-accounts/secret.js');
  const hashes = [hashSecret(secret)];
  const batch = (make) => Array.from({ length: BATCH }, () => make(secret));
  const constant = (candidate) => isOneOf(candidate, hashes);
  const dummyHashes = [Buffer.alloc(32)];
  const compareWithDummy = (candidate) => isOneOf(candidate, dummyHashes);
  const naive = (candidate) => [...secret].every((letter, index) => letter === candidate[index]);
  return [
    [
      'the comparison alone, wrong in the first or in the last byte',
      [() => [constant, batch(atFirst)], () => [constant, batch(atLast)]],
    ],
    [
      'the comparison alone, with the dummy hash of an unknown account or the hash of a known one',
      [() => [compareWithDummy, batch(newSecret)], () => [constant, batch(newSecret)]],
    ],
    [
      'control: a comparison that stops at the first difference',
      [() => [naive, batch(atFirst)], () => [naive, batch(atLast)]],
    ],
  ];
}

function runStep(label, [left, right]) {
  const { t, difference, smallestDetectable } = compareTimes(left, right);
  const verdict = Math.abs(t) < THRESHOLD ? 'no difference found' : 'A DIFFERENCE';
  console.log(
    `${label}:\n  ${verdict}: t = ${t.toFixed(1)}; medians differ by ${difference.toFixed(3)} µs; ` +
      `the smallest detectable difference is ${smallestDetectable.toFixed(3)} µs`,
  );
}

async function run(resources) {
  const directory = mkdtempSync(join(tmpdir(), 'directory-timing-'));
  chmodSync(directory, 0o755);
  resources.defer(() => rmSync(directory, { recursive: true, force: true }));
  const cluster = await Cluster.start(join(directory, 'postgres'), resources);
  const { url, connection } = await cluster.create('timing');
  const secret = newSecret();
  const clientsFile = join(directory, 'clients.json');
  writeFileSync(
    clientsFile,
    JSON.stringify([
      {
        client_id: CLIENT,
        client_secret: secret,
        grant_types: ['client_credentials'],
        scope: 'read',
        owner: null,
      },
    ]),
  );
  const site = await makeSite({ databaseUrl: url, clientsFile, signingKey: randomBytes(32).toString('hex') });
  site.environment.LIMIT_FAILED_LOGINS = '999999999';
  await startProcess(site, resources);
  await makeAccount(connection, secret);

  for (const [label, makers] of await comparisonsOf(secret)) runStep(label, await timeComparison(makers));
  for (const [label, makers] of pairsOf(secret)) {
    await timeRequests(site.port, makers, WARM_UP);
    runStep(label, await timeRequests(site.port, makers, SAMPLES));
  }
}

async function makeAccount(connection, secret) {
  await connection.query(
    `insert into service_accounts (id, name, scopes, created_at) values ('${KNOWN}', 'Known', '{read}', now())`,
  );
  const sha256 = createHash('sha256').update(secret).digest('hex');
  await connection.query(
    `insert into service_account_secrets (sha256, service_account_id, created_at)
     values ('\\x${sha256}', '${KNOWN}', now())`,
  );
}

try {
  process.chdir(ROOT);
  console.log(
    `${SAMPLES} measurements of each of two classes, in random order; |t| < ${THRESHOLD}: no difference`,
  );
  await withResources(run);
} catch (error) {
  console.error(error instanceof Interruption ? 'Interrupted' : error);
  process.exitCode = error instanceof Interruption ? 130 : 1;
}
process.exit();
