import { DataSource } from 'typeorm';
import { readConfig } from '../../src/config/config.js';
import { databaseError } from '../../src/database/statements/database-error.js';
import type { SyncOutcome } from '../../src/mirror/sync/outcome.js';
import { openSource } from '../../src/sources/open-source.js';
import { recordsOfEntries } from '../../src/sources/source-records.js';
import type { DirectorySource, SourceRecord } from '../../src/sources/source.js';
import { NO_SAMPLE } from '../support/builders/built-in-config.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readLeftOut, stopFollowing } from '../support/clients/mirror.js';
import { FollowedDirectory } from '../support/servers/ldap.js';
import { synchronizerOf, TestService } from '../support/servers/service.js';

const BASE = 'dc=example,dc=org';
const HEAD = `version: 1\n\ndn: ou=people,${BASE}\nobjectClass: organizationalUnit\nou: people\n`;

const uuidOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const personDn = (number: number) => `uid=p${number},ou=people,${BASE}`;

function person(number: number, more = '', name = `Person ${number}`): string {
  return `dn: ${personDn(number)}
objectClass: inetOrgPerson
uid: p${number}
cn: ${name}
sn: ${name}
entryUUID: ${uuidOf(number)}
${more}`;
}

function group(number: number, members: readonly number[]): string {
  return `dn: cn=g${number},ou=groups,${BASE}
objectClass: groupOfNames
cn: g${number}
entryUUID: ${uuidOf(1000 + number)}
${members.map((member) => `member: ${personDn(member)}\n`).join('')}`;
}

/** It has more bytes than are read together, and few members exist. */
function largeGroup(members: number): string {
  return group(
    9,
    Array.from({ length: members }, (_, number) => number),
  );
}

const PEOPLE = Array.from({ length: 30 }, (_, number) => person(number));
const GROUPS = [group(0, [1, 2, 3]), group(1, [4])];
const RECORDS = [HEAD, ...PEOPLE, ...GROUPS];
const fileOf = (records: readonly string[]) => records.join('\n');

/** The source with other records. */
function withRecords(
  source: DirectorySource,
  readRecords: NonNullable<DirectorySource['readRecords']>,
): DirectorySource {
  return {
    isReadOnce: false,
    fingerprint: () => source.fingerprint(),
    position: () => source.position(),
    read: (signal) => source.read(signal),
    readRecords,
  };
}

/** Reads a source in bulk. Returns the outcome, and the ids of the entries that were parsed. */
async function readInBulk(
  service: TestService,
  config = service.config,
): Promise<{ outcome: SyncOutcome; parsed: string[] }> {
  const source = openSource(config.directory);
  const parsed: string[] = [];
  const noting = (record: SourceRecord): SourceRecord => ({
    ...record,
    parse: () => {
      const found = record.parse();
      if (found !== null) parsed.push(/^\w+=([^,]+)/.exec(found.entry.dn)?.[1] ?? '');
      return found;
    },
  });
  const noted = withRecords(source, async function* () {
    const { signal } = new AbortController();
    for await (const records of source.readRecords?.() ?? recordsOfEntries(source.read(signal)))
      yield records.map(noting);
  });
  const synchronizer = synchronizerOf(service.app, config);
  const outcome = await synchronizer.run(noted, { force: true, bulkLimit: 0 });
  return { outcome, parsed };
}

async function namesIn(service: TestService): Promise<string[]> {
  const rows = await service.app.get(DataSource).query<{ name: string }[]>('select name from users');
  return rows.map(({ name }) => name).sort();
}

describe('a run in bulk over an LDIF file', () => {
  const service = TestService.forSuite({ environment: { DIRECTORY_GUARD_PERCENT: '100' } });

  beforeAll(() => stopFollowing(service));

  beforeEach(async () => {
    service.replaceDirectory(fileOf(RECORDS));
    await readInBulk(service);
    await readInBulk(service);
  });

  async function read(records: readonly string[]) {
    service.replaceDirectory(fileOf(records));
    const { outcome, parsed } = await readInBulk(service);
    // The run in memory compares each entry with its row.
    const rest = await service.synchronize({ dryRun: true });
    if (rest.kind !== 'planned') throw new Error(rest.kind);
    const { people, groups, memberships } = rest.summary.counts;
    expect([people, groups, memberships]).toEqual(Array(3).fill({ created: 0, updated: 0, deleted: 0 }));
    return { outcome, parsed };
  }

  it('parses no entry that did not change', async () => {
    expect(await read(RECORDS)).toEqual({ outcome: { kind: 'unchanged' }, parsed: [] });
    const moved = [HEAD, ...PEOPLE.toReversed(), '# A comment\n', ...GROUPS];
    expect(await read(moved)).toEqual({ outcome: { kind: 'unchanged' }, parsed: [] });
  });

  it('parses those that did, and new ones', async () => {
    const { parsed } = await read([
      HEAD,
      ...PEOPLE.with(5, person(5, '', 'Zoë')).slice(1),
      person(40),
      group(0, [1, 2]),
      group(1, [4]),
    ]);
    expect(parsed).toEqual(['p5', 'p40', 'g0']);
    const names = await namesIn(service);
    expect([names.length, names.includes('Zoë'), names.includes('Person 0')]).toEqual([30, true, false]);
  });

  it('parses a record that was written in another way once', async () => {
    const folded = RECORDS.with(7, person(6).replace('cn: Person', 'cn: Per\n son'));
    expect(await read(folded)).toEqual({ outcome: { kind: 'unchanged' }, parsed: ['p6'] });
    expect(await read(folded)).toEqual({ outcome: { kind: 'unchanged' }, parsed: [] });
  });

  it('parses a record whose row has changed since, by a run that keeps no digests', async () => {
    service.replaceDirectory(
      fileOf([HEAD, ...PEOPLE.with(5, person(5, '', 'Other')), group(0, [1, 2]), group(1, [4])]),
    );
    expect(await service.synchronize()).toMatchObject({ kind: 'applied' });
    const { parsed } = await read(RECORDS);
    expect(parsed).toEqual(['p5', 'g0']);
    expect(await namesIn(service)).toContain('Person 5');
  });

  it('parses entries of which something is left out each time, and records it', async () => {
    const records = [HEAD, ...PEOPLE.with(3, person(3, 'jpegPhoto:: bm8gcGljdHVyZQ==\n')), ...GROUPS];
    await read(records);
    expect((await read(records)).parsed).toEqual(['p3']);
    expect((await readLeftOut(service)).quarantined).toMatchObject([
      { attribute: 'jpegPhoto', dn: personDn(3) },
    ]);
  });

  it('finds users with the id of one that did not change', async () => {
    const copy = person(50).replace('uid: p50', 'uid: P7');
    await read([...RECORDS, copy]);
    expect((await readLeftOut(service)).quarantined.map(({ dn }) => dn)).toEqual([personDn(7), personDn(50)]);
    expect((await read(RECORDS)).parsed).toEqual(['p7']);
    expect((await readLeftOut(service)).quarantined).toEqual([]);
  });

  it.each<[what: string, records: readonly string[], reason: string]>([
    [
      'a second record of a DN',
      [...RECORDS, person(5)],
      'LDIF line 231: a dn that occurs in the file already',
    ],
    [
      'a second record of the DN of an entry that is neither a user nor a group',
      [...RECORDS, HEAD.slice(12)],
      'LDIF line 231: a dn that occurs in the file already',
    ],
    [
      'a version after a comment in the middle',
      RECORDS.with(20, `# A comment\nversion: 1\n${person(19)}`),
      'LDIF line 141: a version that is not at the beginning of the file',
    ],
    ['a malformed record', RECORDS.with(20, 'dn: uid=x\nno colon\n'), 'LDIF line 141: neither an attribute'],
  ])('reports %s with its line', async (_, records, reason) => {
    service.replaceDirectory(fileOf(records));
    const { outcome } = await readInBulk(service);
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining(reason) as string });
    expect(await namesIn(service)).toHaveLength(30);
  });

  it.each<[what: string, file: string]>([
    ['carriage returns', fileOf(RECORDS).replaceAll('\n', '\r\n')],
    ['blank lines before its version', `\n\n${fileOf(RECORDS)}`],
    ['a group of 200,000', fileOf([...RECORDS, largeGroup(200_000)])],
  ])('parses nothing again of a file with %s', async (_, file) => {
    await read([file]);
    expect(await read([file])).toEqual({ outcome: { kind: 'unchanged' }, parsed: [] });
  });

  it('reads a file completely whose line ends differ from the first one', async () => {
    const { outcome, parsed } = await read([HEAD, fileOf([...PEOPLE, ...GROUPS]).replaceAll('\n', '\r\n')]);
    expect([outcome, parsed]).toEqual([{ kind: 'unchanged' }, []]);
  });

  it('parses every entry with another model', async () => {
    const { directory } = readConfig({
      ...NO_SAMPLE,
      ...modelSetting('groups: {admins: {attribute: groupAdmin, by: uuid}}'),
    });
    const { mapping } = directory;
    const other = { ...service.config, directory: { ...service.config.directory, mapping } };
    expect((await readInBulk(service, other)).parsed).toHaveLength(32);
    expect((await readInBulk(service, other)).parsed).toEqual([]);
  });

  it('keeps no digests of entries that the file does not have', async () => {
    await read([HEAD, ...PEOPLE.slice(10), ...GROUPS]);
    const [counts] = await service.app
      .get(DataSource)
      .query<{ count: number }[]>('select count(*)::integer from record_digests');
    expect(counts?.count).toBe(22);
  });

  it('fails because the database is away when its session is ended, and reads everything the next time', async () => {
    service.replaceDirectory(fileOf([HEAD, ...PEOPLE.with(5, person(5, '', 'Zoë')), ...GROUPS]));
    const source = openSource(service.config.directory);
    const endSession = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%given as (%'`;
    const interrupted = withRecords(source, async function* () {
      for await (const records of source.readRecords?.() ?? [])
        for (const [index, record] of records.entries()) {
          if (index === 20) expect(await service.app.get(DataSource).query(endSession)).toHaveLength(1);
          yield [record];
        }
    });
    const run = synchronizerOf(service.app, service.config).run(interrupted, { force: true, bulkLimit: 0 });
    const failure = run.catch((error: unknown) => databaseError(error));
    expect(await failure).toMatchObject({ message: 'The database cannot be reached at the moment' });
    expect((await readInBulk(service)).parsed).toEqual(['p5']);
  });

  it('waits for no other process that writes the digest of an entry that the file does not have', async () => {
    const other = service.app.get(DataSource).createQueryRunner();
    await other.startTransaction();
    await other.query('update record_digests set digest = digest where entry_uuid = $1', [uuidOf(0)]);
    await read([HEAD, ...PEOPLE.slice(1), ...GROUPS]);
    await other.rollbackTransaction();
    await other.release();
    expect(await namesIn(service)).toHaveLength(29);
  });
});

describe('a run in bulk over a directory server', () => {
  let followed: FollowedDirectory;

  beforeAll(async () => {
    followed = await FollowedDirectory.start({ ldif: fileOf([...PEOPLE, ...GROUPS]), syncprov: true });
    await stopFollowing(followed.service);
    await readInBulk(followed.service);
  });

  afterAll(async () => {
    await followed.service.stop();
    await followed.slapd.remove();
  });

  /** A record of a server is parsed when it arrives: this counts those that are mapped. */
  it.each([
    ['nothing', '', []],
    ['a user', `dn: ${personDn(5)}\nchangetype: modify\nreplace: sn\nsn: Other\n`, ['p5']],
    [
      'a group',
      `dn: cn=g0,ou=groups,${BASE}\nchangetype: modify\nadd: member\nmember: ${personDn(9)}\n`,
      ['g0'],
    ],
  ])('maps what has changed: %s', async (_, change, changed) => {
    if (change !== '') await followed.change(change);
    const { outcome, parsed } = await readInBulk(followed.service);
    expect([outcome.kind, parsed]).toEqual([changed.length === 0 ? 'unchanged' : 'applied', changed]);
    expect(await readInBulk(followed.service)).toEqual({ outcome: { kind: 'unchanged' }, parsed: [] });
  });
});
