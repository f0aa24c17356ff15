import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { changesNothing } from '../../src/mirror/revision/revision.js';
import { BASE_DN } from '../support/builders/directory.js';
import { LONGEST_WAIT } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { expectMirror, parseDump } from '../support/builders/ldap-content.js';
import { readInconsistencies, readMirror } from '../support/builders/ldap-mirror.js';
import { TestProxy } from '../support/servers/proxy.js';
import { changesInOneGo } from '../support/builders/random-changes.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';
import { repetitions } from '../support/repetitions.js';

/** A seed of the environment, to search for further failures. */
const SEED = Number(process.env['TEST_SEED'] ?? 20_261_121);
const STEPS = Number(process.env['TEST_STEPS'] ?? 8);

const UNITS = ['ou=a,ou=people', 'ou=b,ou=a,ou=people', 'ou=sub,ou=groups', 'ou=away'];
/** Initial users, and one that no change affects, because a directory without users is held. */
const PEOPLE = ['p0', 'p1', 'p2', 'p3', 'p4', 'stays'].map(
  (cn, index) =>
    `dn: cn=${cn},ou=${['a,ou=', 'b,ou=a,ou=', ''][index % 3] ?? ''}people,${BASE_DN}\nobjectClass: inetOrgPerson\nuid: ${cn}\ncn: ${cn}\nsn: ${cn}\n`,
);
const GROUPS = ['g0', 'g1', 'g2'].map(
  (cn) =>
    `dn: cn=${cn},ou=groups,${BASE_DN}\nobjectClass: groupOfNames\ncn: ${cn}\nmember: cn=stays,ou=people,${BASE_DN}\n`,
);
const LDIF = [
  ...UNITS.map((unit) => `dn: ${unit},${BASE_DN}\nobjectClass: organizationalUnit\n`),
  ...PEOPLE,
  ...GROUPS,
].join('\n');
const ATTRIBUTES = ['*', 'entryUUID'];

const STEP = fc.record({
  changes: changesInOneGo(),
  /** Each with its own client. */
  atOnce: fc.boolean(),
  /** Milliseconds from the start. */
  cutAfter: fc.nat(120),
});
type Step = typeof STEP extends fc.Arbitrary<infer Each> ? Each : never;

describe.each([
  { way: 'a server that pushes them', syncprov: true, refint: false, cuts: false, long: 4 },
  {
    way: 'a server that pushes them, and rewrites groups',
    syncprov: true,
    refint: true,
    cuts: false,
    long: 3,
  },
  {
    way: 'a server that pushes them over a connection that breaks',
    syncprov: true,
    refint: false,
    cuts: true,
    long: 3,
  },
  { way: 'a polled server', syncprov: false, refint: true, cuts: false, long: 1 },
])('random changes of $way', ({ syncprov, refint, cuts, long }) => {
  let slapd: TestSlapd;
  let proxy: TestProxy;
  let service: TestService;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF, syncprov, refint });
    proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    service = await TestService.start({
      environment: {
        ...directorySettings(slapd),
        DIRECTORY_URL: `ldap://127.0.0.1:${proxy.port}`,
        DIRECTORY_GUARD_PERCENT: '100',
      },
    });
  });

  afterAll(async () => {
    await service.stop();
    await proxy.stop();
    await slapd.remove();
  });

  const dump = async () => parseDump(await slapd.search({ attributes: ATTRIBUTES }));

  /**
   * Differences that a full synchronization would still find.
   */
  async function readRest(): Promise<unknown> {
    const outcome = await service.synchronize({ dryRun: true });
    if (outcome.kind !== 'planned') throw new Error(`The run was ${outcome.kind}`);
    return { isEmpty: changesNothing(outcome.counts) };
  }

  /** Waits until the mirror equals the content of the server, and no work is left. */
  async function expectConvergence(): Promise<void> {
    const wanted = expectMirror(await dump());
    const latest = performance.now() + LONGEST_WAIT;
    for (;;) {
      try {
        expect(await readMirror(service.app.get(DataSource))).toEqual(wanted);
        expect(await readInconsistencies(service.app.get(DataSource))).toEqual([]);
        expect(await readRest()).toEqual({ isEmpty: true });
        return;
      } catch (error) {
        if (performance.now() > latest) throw error;
        await sleep(100);
      }
    }
  }

  async function apply({ changes, atOnce, cutAfter }: Step): Promise<void> {
    const entries = await dump();
    const cut =
      cuts && cutAfter < 60
        ? sleep(cutAfter).then(() => {
            proxy.cut();
          })
        : null;
    // A change that has become impossible is rejected, which is a valid outcome.
    if (atOnce) await Promise.all(changes.map((change) => slapd.modify(change(entries))));
    else for (const change of changes) await slapd.modify(change(entries));
    await cut;
    proxy.restore();
  }

  it.each(Array.from({ length: repetitions({ usually: 1, long }) }, (_, run) => SEED + run))(
    'lead to the output of ldapsearch (seed %i)',
    async (seed) => {
      for (const step of fc.sample(STEP, { numRuns: STEPS, seed })) {
        await apply(step);
        await expectConvergence();
      }
    },
  );

  it(`lead to it also without waiting for the mirror (seed ${SEED})`, async () => {
    for (const step of fc.sample(STEP, { numRuns: STEPS, seed: SEED })) await apply(step);
    await expectConvergence();
  });
});
