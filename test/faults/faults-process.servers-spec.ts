import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif, PICTURE } from '../support/builders/directory.js';
import { type HttpAnswer, post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { variable } from '../support/servers/store.js';
import { findFaketime } from '../support/servers/system-packages.mjs';
import { WatchedService } from '../support/watched-service.js';

const HOURS = 2;
const QUERY = '{ users(first: 10) { nodes { name photo } } directoryStatus { asOf } }';
const directoryOf = (version: number) => buildLdif([{ id: 'p0', name: `p0 of ${version}`, photo: PICTURE }]);

describe('a process whose clock moves', () => {
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  const service = forSuite(() => {
    setClock(0);
    return WatchedService.start({
      ldif: directoryOf(0),
      environment: {
        ...issuer.environment,
        DIRECTORY_SYNC_SECONDS: '1',
        LD_PRELOAD: findFaketime() ?? '',
        FAKETIME_TIMESTAMP_FILE: clock(),
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
  });
  const clock = () => join(variable('TEST_WORK_DIRECTORY'), 'clock');
  let version = 0;

  /** Offset in hours; the rest of the machine keeps its clock. */
  function setClock(hours: number): void {
    writeFileSync(clock(), hours === 0 ? '+0' : `+${hours}h`);
  }

  /** A token that is valid for an hour before and after now, by a clock that is off by some hours. */
  function signAt(hours: number): Promise<string> {
    const now = Math.floor(Date.now() / 1000) + hours * 3600;
    const scope = 'read directory';
    return issuer.sign({ payload: { sub: 'p0', scope, iat: now, nbf: now, exp: now + 3600 } });
  }

  const ask = (authorization: string) => post(service, { query: QUERY }, { authorization });

  function servedBy({ status, body }: HttpAnswer) {
    expect([status, body]).toEqual([200, expect.not.stringContaining('errors')]);
    return (
      JSON.parse(body) as {
        data: { users: { nodes: { name: string; photo: string }[] }; directoryStatus: { asOf: string } };
      }
    ).data;
  }

  /** The mirror follows the directory, and reports the time by the clock of the database. Returns the URL of a photo. */
  async function expectToContinue(hours: number): Promise<string> {
    const authorization = await signAt(hours);
    const begun = Date.now();
    await eventually(async () => {
      const asOf = new Date(servedBy(await ask(authorization)).directoryStatus.asOf).getTime();
      return asOf > begun && asOf <= Date.now();
    }, true);
    service.replaceDirectory(directoryOf(++version));
    const first = async () => servedBy(await ask(authorization)).users.nodes[0];
    await eventually(async () => (await first())?.name, `p0 of ${version}`);
    return (await first())?.photo ?? '';
  }

  it(`by ${HOURS} hours and back continues, and accepts and rejects the same tokens and URLs`, async () => {
    const url = await expectToContinue(0);
    const known = await signAt(0);
    servedBy(await ask(known));

    setClock(HOURS);
    expect([(await ask(known)).status, (await fetch(url)).status]).toEqual([401, 403]);
    const later = await expectToContinue(HOURS);
    const ofLater = await signAt(HOURS);
    servedBy(await ask(ofLater));

    setClock(0);
    // A token of the time in which the clock was ahead is not valid yet.
    expect((await ask(ofLater)).status).toBe(401);
    servedBy(await ask(known));
    // The service signed both, and they have not expired.
    expect([(await fetch(url)).status, (await fetch(later)).status]).toEqual([200, 200]);
    await expectToContinue(0);
    expect(service.hasEnded).toBe(false);
  });
});
