import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig } from '../../../src/config/config.js';
import { DirectoryDataSource } from '../../../src/database/connections/data-source.js';
import { BASE_DN } from '../builders/directory.js';
import { type DumpedEntry, expectMirror, parseDump } from '../builders/ldap-content.js';
import { readInconsistencies, readMirror } from '../builders/ldap-mirror.js';
import type { DirectoryChange } from '../builders/random-changes.js';
import { TestProcess } from '../clients/command.js';
import { isEqual, LONGEST_WAIT } from '../eventually.js';
import { directorySettings } from './ldap.js';
import { findFreePort, startPostgres, type TestPostgres } from './postgres.mjs';
import { TestProxy } from './proxy.js';
import { startSlapd, type TestSlapd } from './slapd.mjs';
import { variable } from './store.js';

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

/** A crowd, of which a group always has one of two halves, so that a revision takes a while, and a partial one is visible. */
const CROWD = 200;
const crowdDn = (number: number) => `cn=crowd-${number},ou=people,${BASE_DN}`;
const halfOf = (version: number) =>
  Array.from({ length: CROWD / 2 }, (_, index) => `member: ${crowdDn(2 * index + (version % 2))}`).join('\n');
const CROWD_DN = `cn=crowd,ou=groups,${BASE_DN}`;
const CROWD_RECORDS = [
  ...Array.from(
    { length: CROWD },
    (_, index) =>
      `dn: ${crowdDn(index)}\nobjectClass: inetOrgPerson\nuid: crowd-${index}\ncn: crowd-${index}\nsn: Crowd\n`,
  ),
  `dn: ${CROWD_DN}\nobjectClass: groupOfNames\ncn: crowd\n${halfOf(0)}\n`,
];
const PARTIAL = `
  select count(*), array_agg(distinct substring(u.id from 7)::integer % 2) as halves
  from effective_memberships m join groups g on g.key = m.group_key join users u on u.key = m.user_key
  where g.id = 'crowd' having count(*) <> ${CROWD / 2} or count(distinct substring(u.id from 7)::integer % 2) <> 1`;

/** Records of the initial directory: parents before children. */
const INITIAL = [
  ...UNITS.map((unit) => `dn: ${unit},${BASE_DN}\nobjectClass: organizationalUnit\n`),
  ...PEOPLE,
  ...GROUPS,
];

interface Ways {
  start(): Promise<void> | void;
  kill(): Promise<unknown>;
  freeze(): void;
  resume(): void;
}

/** A process, or several that fail together. */
class Part {
  state: 'up' | 'down' | 'frozen' = 'down';

  constructor(private readonly ways: Ways) {}

  /** Starts or continues it. */
  async recover(): Promise<void> {
    if (this.state === 'frozen') this.ways.resume();
    if (this.state === 'down') await this.ways.start();
    this.state = 'up';
  }

  async kill(): Promise<void> {
    // Children of a paused process would not notice that it is gone.
    if (this.state === 'frozen') this.ways.resume();
    if (this.state !== 'down') await this.ways.kill();
    this.state = 'down';
  }

  freeze(): void {
    if (this.state !== 'up') return;
    this.ways.freeze();
    this.state = 'frozen';
  }
}

export const PARTS = ['slapd', 'postgres', 'service', 'second'] as const;
export const PROXIES = ['directory', 'database'] as const;

/** A directory server, a database server, and one or two processes of the service, all of which fail. */
export class World {
  /** What has happened, to be printed when a test fails. */
  journal: string[] = [];
  readonly parts: Readonly<Record<(typeof PARTS)[number], Part>>;
  private backup: string | null = null;
  /** Where connections are open that forward nothing. */
  private readonly isSilent = new Set<(typeof PROXIES)[number]>();
  private crowdVersion = 0;
  private begun = performance.now();
  private readonly processes: Record<string, TestProcess> = {};

  private constructor(
    private readonly slapd: TestSlapd,
    private readonly postgres: TestPostgres,
    private readonly proxies: Readonly<Record<(typeof PROXIES)[number], TestProxy>>,
    private readonly ports: Readonly<Record<string, number>>,
    private readonly dataSource: DirectoryDataSource,
    private readonly files: string,
  ) {
    this.parts = {
      slapd: new Part({
        start: () => slapd.start(),
        kill: () => slapd.stop('SIGKILL'),
        freeze: () => slapd.freeze(),
        resume: () => slapd.unfreeze(),
      }),
      postgres: new Part({
        start: () => postgres.start(),
        kill: () => postgres.kill(),
        freeze: () => postgres.hang(),
        resume: () => postgres.resume(),
      }),
      service: new Part(this.waysOf('service')),
      second: new Part(this.waysOf('second')),
    };
    this.parts.slapd.state = 'up';
    this.parts.postgres.state = 'up';
  }

  static async start(options: { syncprov: boolean; refint: boolean }): Promise<World> {
    const files = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'convergence-'));
    const slapd = await startSlapd({ ldif: [...INITIAL, ...CROWD_RECORDS].join('\n'), ...options });
    const postgres = await startPostgres(files, { max_connections: 60, synchronous_commit: 'on' });
    const client = new pg.Client(postgres.url('postgres'));
    await client.connect();
    await client.query('create database directory');
    await client.end();
    const [directory, database] = await Promise.all(
      [slapd.port, postgres.port].map((port) => TestProxy.start({ host: '127.0.0.1', port })),
    );
    if (directory === undefined || database === undefined) throw new Error('There is no proxy');
    const config = readConfig({ DATABASE_URL: postgres.url('directory') });
    const dataSource = new DirectoryDataSource(config.database, []);
    await dataSource.initialize();
    const ports = { service: await findFreePort(), second: await findFreePort() };
    return new World(slapd, postgres, { directory, database }, ports, dataSource, files);
  }

  async stop(): Promise<void> {
    await this.parts.postgres.recover();
    await this.dataSource.destroy();
    for (const name of PARTS) await this.parts[name].kill();
    await Promise.all(PROXIES.map((name) => this.proxies[name].stop()));
    await this.slapd.remove();
    rmSync(this.files, { recursive: true, force: true });
  }

  /** Makes the directory the initial one, and changes that at random. */
  async reset(changes: readonly DirectoryChange[]): Promise<void> {
    this.journal = [];
    this.begun = performance.now();
    const isFrame = /^(dc=|cn=mirror,|cn=crowd|cn=stays,|ou=(people|groups),dc=)/;
    const others = (await this.read()).map(({ dn }) => dn).filter((dn) => !isFrame.test(dn));
    const deepestFirst = others.sort((one, other) => other.split(',').length - one.split(',').length);
    const deletions = deepestFirst.map((dn) => `dn: ${dn}\nchangetype: delete\n`);
    const additions = INITIAL.filter((record) => !record.startsWith('dn: cn=stays,'));
    await this.modify([
      ...deletions,
      ...additions.map((record) => record.replace('\n', '\nchangetype: add\n')),
    ]);
    await this.change(changes);
    this.backup = await this.slapd.dump();
  }

  note(text: string): void {
    this.journal.push(`${Math.round(performance.now() - this.begun)} ms: ${text}`);
  }

  async read(): Promise<DumpedEntry[]> {
    return parseDump(await this.slapd.search({ attributes: ['*', 'entryUUID'] }));
  }

  /** Changes that have become impossible are rejected. */
  async change(changes: readonly DirectoryChange[], how: 'in turn' | 'at once' = 'in turn'): Promise<void> {
    await this.parts.slapd.recover();
    const entries = await this.read();
    const records = changes.map((change) => change(entries));
    if (how === 'at once') await Promise.all(records.map((record) => this.modify([record])));
    else for (const record of records) await this.modify([record]);
  }

  async changeCrowd(): Promise<void> {
    await this.parts.slapd.recover();
    this.crowdVersion++;
    const renamed = Array.from({ length: 40 }, (_, index) => index * 5).map(
      (number) =>
        `dn: ${crowdDn(number)}\nchangetype: modify\nreplace: displayName\ndisplayName: Version ${this.crowdVersion}\n`,
    );
    const members = `dn: ${CROWD_DN}\nchangetype: modify\nreplace: member\n${halfOf(this.crowdVersion)}\n`;
    const { code } = await this.slapd.modify([...renamed, members].join('\n'));
    this.note(`crowd of version ${this.crowdVersion}: ${code}`);
  }

  async keepBackup(): Promise<void> {
    await this.parts.slapd.recover();
    this.backup = await this.slapd.dump();
  }

  /** Restores the latest backup. */
  async restoreBackup(): Promise<void> {
    if (this.backup === null) return;
    await this.parts.slapd.recover();
    await this.slapd.stop();
    this.parts.slapd.state = 'down';
    await this.slapd.restore(this.backup);
    await this.parts.slapd.recover();
  }

  /** Breaks a connection, and accepts new ones again at once, or when everything recovers. */
  cut(name: (typeof PROXIES)[number], how: 'cut' | 'reset' | 'freeze', isRestored: boolean): void {
    const proxy = this.proxies[name];
    proxy[how]();
    if (how === 'freeze') this.isSilent.add(name);
    if (isRestored) proxy.restore();
  }

  async recover(): Promise<void> {
    for (const name of PROXIES) {
      // A connection that stays silent is given up within a minute, which would be most of the time of the test.
      if (this.isSilent.delete(name)) this.proxies[name].cut();
      this.proxies[name].restore();
    }
    for (const name of ['slapd', 'postgres', 'service'] as const) await this.parts[name].recover();
    if (this.parts.second.state === 'frozen') await this.parts.second.recover();
  }

  /** Revisions are complete at any time. */
  async expectWholeRevision(): Promise<void> {
    const { state } = this.parts.postgres;
    if (state !== 'up') return;
    expect(await readInconsistencies(this.dataSource)).toEqual([]);
    expect(await this.dataSource.query(PARTIAL)).toEqual([]);
  }

  /** Waits until the mirror is what the directory says. */
  async expectConvergence(): Promise<void> {
    await this.recover();
    const wanted = { ...expectMirror(await this.read()), state: 'IDLE' };
    const begun = performance.now();
    for (;;) {
      this.expectRunning();
      const found = await this.readMirror().catch(() => null);
      if (isEqual(found, wanted)) break;
      if (performance.now() - begun > LONGEST_WAIT) {
        expect(found).toEqual(wanted);
        break;
      }
      await sleep(50);
    }
    this.note('converged');
    await this.expectWholeRevision();
    await this.parts.second.kill();
  }

  private async readMirror(): Promise<object> {
    const [status]: { state: string }[] = await this.dataSource.query('select state from mirror_state');
    return { ...(await readMirror(this.dataSource)), ...status };
  }

  /** What the processes have printed last. */
  get output(): string {
    return Object.entries(this.processes)
      .map(([name, { stdout, stderr }]) => `${name}:\n${stdout.slice(-6000)}${stderr.slice(-2000)}`)
      .join('\n');
  }

  /** No fault ends the service. */
  private expectRunning(): void {
    for (const name of ['service', 'second'] as const)
      if (this.parts[name].state === 'up' && this.processes[name]?.hasEnded === true)
        throw new Error(`The process ${name} has ended by itself`);
  }

  private async modify(records: readonly string[]): Promise<void> {
    const { code, stderr } = await this.slapd.modify(records.join('\n'));
    this.note(`${code === 0 ? 'done' : `rejected (${stderr.trim()})`}: ${records.join('\n')}`);
  }

  private waysOf(name: 'service' | 'second'): Ways {
    return {
      start: () => {
        this.processes[name] = TestProcess.start('main', [], {
          ...directorySettings(this.slapd),
          PORT: String(this.ports[name]),
          DATABASE_URL: `postgres://postgres@127.0.0.1:${this.proxies.database.port}/directory`,
          DIRECTORY_URL: `ldap://127.0.0.1:${this.proxies.directory.port}`,
          DIRECTORY_SCAN_SECONDS: '1',
          DIRECTORY_GUARD_PERCENT: '100',
        });
      },
      kill: () => this.processes[name]?.kill('SIGKILL') ?? Promise.resolve(),
      freeze: () => this.processes[name]?.freeze(),
      resume: () => this.processes[name]?.resume(),
    };
  }
}
