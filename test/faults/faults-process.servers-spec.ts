import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { type HttpAnswer, post, send } from '../support/clients/http.js';
import { variable } from '../support/servers/store.js';
import { findFaketime } from '../support/servers/system-packages.mjs';
import { WatchedService } from '../support/watched-service.js';

const HOURS = 2;
/** Requests per minute. */
const REQUESTS = 10_000;
/** Failed logins of an account, or from an address. */
const LOGINS = 100;

const NAMES = '{ users(first: 10) { nodes { id name photo } } directoryStatus { state asOf } }';

let issuer: ExternalIssuerProcess;
let photo: Buffer;
let version = 0;

const directory = () =>
  buildLdif(
    ['p0', 'p1'].map((id) => ({ id, name: `${id} of ${version}`, photo })),
    Array.from({ length: 5 }, (_, at) => ({ id: `g${at}`, members: ['p0', 'p1'], owners: ['p0'] })),
  );

beforeAll(async () => {
  issuer = await ExternalIssuerProcess.start();
  photo = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
    .jpeg()
    .toBuffer();
});

afterAll(() => issuer.stop());

const secondsNow = (hours = 0) => Math.floor(Date.now() / 1000) + hours * 3600;

/** A token that is valid for an hour before and after now, by a clock that is off by some hours. */
function signAt(hours: number, sub = 'p0'): Promise<string> {
  const scope = 'profile read directory write';
  const [iat, exp] = [secondsNow(hours), secondsNow(hours + 1)];
  return issuer.sign({ payload: { sub, scope, iat, nbf: iat, exp } });
}

describe('a process', () => {
  let clock: string;
  let service: WatchedService;

  beforeAll(async () => {
    clock = join(variable('TEST_WORK_DIRECTORY'), 'clock');
    setClock(0);
    service = await WatchedService.start({
      ldif: directory(),
      environment: {
        ...issuer.environment,
        DIRECTORY_SYNC_SECONDS: '1',
        LIMIT_REQUESTS_PER_MINUTE: String(REQUESTS),
        LIMIT_FAILED_LOGINS: String(LOGINS),
        LD_PRELOAD: findFaketime() ?? '',
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
  });

  afterEach(() => setClock(0));

  afterAll(() => service.stop());

  /** Offset in hours; the rest of the machine keeps its clock. */
  function setClock(hours: number): void {
    writeFileSync(clock, hours === 0 ? '+0' : `+${hours}h`);
  }

  const sendRequest = (authorization: string) => post(service, { query: NAMES }, { authorization });

  interface Served {
    users: { nodes: { id: string; name: string; photo: string }[] };
    directoryStatus: { asOf: string };
  }

  function servedBy({ status, body }: HttpAnswer): Served {
    expect([status, body]).toEqual([200, expect.not.stringContaining('errors')]);
    return (JSON.parse(body) as { data: Served }).data;
  }

  /** The mirror follows the directory and reports the time, responses are correct, and no timer runs continuously. */
  async function expectToContinue(hours: number, usual: number): Promise<string> {
    const authorization = await signAt(hours);
    // Although nothing has changed. The time is that of the database, which is correct.
    const begun = Date.now();
    await eventually(async () => {
      const { asOf } = servedBy(await sendRequest(authorization)).directoryStatus;
      return new Date(asOf).getTime() > begun && new Date(asOf).getTime() <= Date.now();
    }, true);
    version++;
    service.replaceDirectory(directory());
    await eventually(
      async () => servedBy(await sendRequest(authorization)).users.nodes[0]?.name,
      `p0 of ${version}`,
    );
    await eventually(async () => (await service.restlessness()) < usual + 0.5, true);
    const url = servedBy(await sendRequest(authorization)).users.nodes[0]?.photo ?? '';
    expect((await fetch(url)).status).toBe(200);
    return url;
  }

  let guesser = 0;
  /** An address without other requests. */
  const wrongSecret = () => {
    const authorization = `Basic ${Buffer.from(`guessed-${guesser}:guess`).toString('base64')}`;
    const path = '/graphql/v1?query={__typename}';
    return send(service, { path, headers: { authorization }, localAddress: `127.0.1.${guesser}` });
  };

  it(`whose clock moves by ${HOURS} hours and back continues, and accepts and rejects the same tokens`, async () => {
    guesser++;
    const usual = await service.restlessness();
    const url = await expectToContinue(0, usual);
    const known = await signAt(0);
    servedBy(await sendRequest(known));

    setClock(HOURS);
    expect((await sendRequest(known)).status).toBe(401);
    const expired = await fetch(url);
    expect([expired.status, await expired.text()]).toEqual([403, expect.stringContaining('URL_EXPIRED')]);
    const later = await expectToContinue(HOURS, usual);
    const claims = { active: true, sub: 'p1', scope: 'read directory' };
    const opaque = await issuer.opaque(claims);
    servedBy(await sendRequest(opaque));
    const ofLater = await signAt(HOURS);
    servedBy(await sendRequest(ofLater));
    for (let time = 0; time < LOGINS; time++) expect((await wrongSecret()).status).toBe(401);
    const shutOut = await wrongSecret();
    const wait = Number(shutOut.headers['retry-after']);
    expect(shutOut.status).toBe(429);
    await issuer.opaque({ ...claims, active: false }, opaque.slice('Bearer '.length));

    setClock(0);
    // Tokens of the time in which the clock was ahead are not valid yet.
    expect((await sendRequest(opaque)).status).toBe(401);
    expect((await sendRequest(ofLater)).status).toBe(401);
    servedBy(await sendRequest(known));
    expect((await fetch(url)).status).toBe(200);
    // The service signed it, and it has not expired.
    expect((await fetch(later)).status).toBe(200);
    expect(Number((await wrongSecret()).headers['retry-after'])).toBeLessThanOrEqual(wait);
    const [, seconds] =
      /"requests";r=\d+;t=(\d+)/.exec(String((await sendRequest(known)).headers['ratelimit'])) ?? [];
    expect(Number(seconds)).toBeLessThanOrEqual(60);
    await expectToContinue(0, usual);
    expect(service.hasEnded).toBe(false);
  });
});
