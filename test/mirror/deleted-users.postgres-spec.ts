import { createHash } from 'node:crypto';
import { HttpAdapterHost } from '@nestjs/core';
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { AccessLogEntity } from '../../src/access-log/access-log.entity.js';
import { AccessLog } from '../../src/access-log/access-log.js';
import { keyOfDn } from '../../src/ldap/naming/identifiers.js';
import { pruneChanges } from '../../src/mirror/revision/write-changes.js';
import { buildLdif, personDn, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** The user of the client `demo-basic`, with values that occur nowhere else. */
const ADA = {
  id: 'ada.martin',
  name: 'Augusta Marigold',
  givenName: 'Augusta',
  familyName: 'Marigold',
  email: 'augusta@marigold.example',
  schoolYear: 'Year of the marigolds',
  uuid: '7d5c1f0e-0000-4000-8000-5a1ad0000001',
};
const OTHERS: TestPerson[] = [{ id: 'ben' }, { id: 'cleo' }];
const GROUPS: TestGroup[] = [{ id: 'club', members: ['ben', ADA.id], owners: [ADA.id] }];

describe('a user who was deleted from the directory', () => {
  let service: TestService;
  let dataSource: DataSource;
  let traces: Record<string, string>;

  beforeAll(async () => {
    const draw = (background: string) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background } })
        .jpeg()
        .toBuffer();
    const photo = await draw('teal');
    const picture = await draw('coral');
    service = await TestService.start({ ldif: buildLdif([{ ...ADA, photo, picture }, ...OTHERS], GROUPS) });
    await stopFollowing(service);
    dataSource = service.app.get(DataSource);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    traces = {
      ...ADA,
      photo: photo.toString('hex'),
      picture: picture.toString('hex'),
      'key of the DN': keyOfDn(personDn(ADA.id)),
      'digest of the photo': digest(photo),
      'digest of the picture': digest(picture),
    };
    await leaveTraces();
  });

  afterAll(() => service.stop());

  /** The user is read, sends requests, and makes previews. */
  async function leaveTraces(): Promise<void> {
    const authorization = await service.accessToken('profile read write');
    const answers = await Promise.all(
      [
        '{ profile { name email photo } user(user: {id: "ada.martin"}) { id name email photo picture } }',
        'mutation { updateProfile(input: {name: "Augusta Ada Marigold"}) { preview { ldif } } }',
      ].map((query) => service.query(query, { authorization })),
    );
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    await service.app.get(AccessLog).flush();
  }

  /** Columns that contain data of the user, found by searching every row of the database as text. */
  async function findTraces(): Promise<string[]> {
    const columns = await dataSource.query<{ table: string; column: string }[]>(`
      select table_name as "table", column_name as "column" from information_schema.columns
      where table_schema = current_schema() order by 1, 2`);
    const found = await Promise.all(
      columns.map(async ({ table, column }) => {
        const rows = await dataSource.query<{ text: string }[]>(
          `select distinct "${column}"::text as text from "${table}" where "${column}" is not null`,
        );
        const texts = rows.map(({ text }) => text.toLowerCase());
        const kinds = Object.keys(traces).filter((kind) => {
          const trace = (traces[kind] ?? '').toLowerCase();
          return texts.some((text) => text.includes(trace));
        });
        return kinds.map((kind) => `${table}.${column}: ${kind}`);
      }),
    );
    return found.flat();
  }

  it('occurs in the tables before', async () => {
    const found = await findTraces();
    for (const kind of Object.keys(traces)) {
      expect(found.filter((each) => each.endsWith(`: ${kind}`))).not.toEqual([]);
    }
  });

  it('occurs in none afterwards, except for the id in the log of changes and in the access log', async () => {
    service.replaceDirectory(buildLdif(OTHERS, [{ id: 'club', members: ['ben'] }]));
    expect((await service.synchronize()).kind).toBe('applied');
    expect(await findTraces()).toEqual([
      'access_log.acting_for: id',
      'changes.id_folded: id',
      'changes.user_id: id',
      // Stable keys that contain no name: a client with a copy needs them for the deletion.
      'changes.user_uuid: uuid',
    ]);
  });

  it('occurs in no table after the retention period', async () => {
    await dataSource.query("update changes set at = at - interval '31 days'");
    await dataSource.query('update access_log set day = day - 91');
    // Each process deletes expired rows after its start, and then once a day.
    await new AccessLog(
      service.config,
      dataSource.getRepository(AccessLogEntity),
      new HttpAdapterHost(),
    ).flush();
    await pruneChanges(dataSource, 30);
    expect(await findTraces()).toEqual([]);
  });
});
