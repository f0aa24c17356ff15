import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';
import { buildLdif, personDn } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'models-'));

/** Writes a model file with these fields of users. */
function modelOf(name: string, ...fields: string[]): string {
  const file = join(directory, `${name}.yaml`);
  writeFileSync(file, `users:\n  fields:\n${fields.map((field) => `    ${field}\n`).join('')}`);
  return file;
}

const PHONE = 'phone: {attribute: telephoneNumber, type: String, description: Phone number.,';
const FIRST = modelOf(
  'first',
  `${PHONE} filterable: true}`,
  'number: {attribute: employeeNumber, type: String, description: Number, filterable: true}',
);
const SECOND = modelOf(
  'second',
  `${PHONE} filterable: true, searchable: true}`,
  'number: {attribute: employeeNumber, type: Int, description: Number, filterable: true}',
  'manager: {attribute: manager, type: User, description: Manager, reverse: reports}',
);

const LDIF = `${buildLdif([{ id: 'anna' }, { id: 'ben' }])
  .split('\n\n')
  .map((record, index) =>
    index === 1
      ? `${record}\ntelephoneNumber: +41 44 7\nemployeeNumber: 007\nmanager: ${personDn('ben')}`
      : record.trimEnd(),
  )
  .join('\n\n')}\n`;

describe('custom fields of a model file', () => {
  it('take effect at the next start, with values that are read again', async () => {
    const first = await TestService.start({ ldif: LDIF, environment: { DIRECTORY_MODEL: FIRST } });
    const before = await first.serviceAccount('read', 'directory');
    expect(
      await first.read('{ users(first: 5, filter: {number: {is: "007"}}) { nodes { id phone number } } }', {
        authorization: before,
      }),
    ).toEqual({ users: { nodes: [{ id: 'anna', phone: '+41 44 7', number: '007' }] } });

    const { database } = first.config;
    const environment = {
      DIRECTORY_MODEL: SECOND,
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${first.directoryFile}`,
    };
    // Both releases run side by side, until the first ends.
    const second = await TestService.start({ environment });
    const read = () =>
      second.read(
        '{ users(first: 5) { nodes { id phone number manager { id } reports(first: 1) { totalCount } } } }',
        { authorization: before },
      );
    const ben = { id: 'ben', phone: null, number: null, manager: null };
    expect(await read()).toMatchObject({ users: { nodes: [{ phone: '+41 44 7', number: null }, ben] } });
    await first.app.close();
    const anna = { id: 'anna', phone: '+41 44 7', number: 7, manager: { id: 'ben' } };
    const none = { totalCount: 0 };
    await eventually(read, {
      users: {
        nodes: [
          { ...anna, reports: none },
          { ...ben, reports: { totalCount: 1 } },
        ],
      },
    });
    for (const filter of ['number: {min: 7}', 'search: "44 7"', 'phone: {startsWith: "+41"}']) {
      const found = await second.read(`{ users(first: 5, filter: {${filter}}) { nodes { id } } }`, {
        authorization: before,
      });
      expect(found).toEqual({ users: { nodes: [{ id: 'anna' }] } });
    }
    await second.stop();
  });
});

describe('rules of visibility that a model file adds', () => {
  const RULES = join(directory, 'rules.yaml');
  writeFileSync(
    RULES,
    [
      'scopes: {confidential: Hidden people.}',
      'visibility: {bypass: confidential, users: [{where: (uid=anna), to: self}]}',
      '',
    ].join('\n'),
  );
  const ALL = { users: { nodes: [{ id: 'anna' }, { id: 'ben' }] } };
  const VISIBLE = { users: { nodes: [{ id: 'ben' }] } };
  let first: TestService;
  let authorization: string;
  let environment: Record<string, string>;
  let file: string;
  let away: string;

  beforeEach(async () => {
    first = await TestService.start({ ldif: LDIF });
    authorization = await first.serviceAccount('read', 'directory', 'write');
    const { directoryFile } = first;
    const { database } = first.config;
    [file, away] = [directoryFile, `${directoryFile}.away`];
    environment = {
      DIRECTORY_MODEL: RULES,
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${directoryFile}`,
    };
  });

  const others: TestService[] = [];

  afterEach(async () => {
    for (const { app } of others.splice(0)) await app.close();
    await first.stop();
  });

  /** A service beside the first one, or after it. */
  async function startOther(model = RULES): Promise<TestService> {
    const other = await TestService.start({
      environment: { ...environment, DIRECTORY_MODEL: model },
      confirmed: false,
    });
    others.push(other);
    return other;
  }

  const IDS = '{ users(first: 5) { nodes { id } } }';
  const idsOf = (service: TestService) => service.read(IDS, { authorization });
  const confidantOf = (service: TestService) => service.serviceAccount('read', 'directory', 'confidential');
  const readinessOf = async (service: TestService) => (await fetch(`${service.url}/_readiness`)).status;

  /** What a viewer who does not see everything gets from each interface. */
  async function refusalsOf(service: TestService): Promise<unknown[]> {
    const token = authorization;
    const preview = 'mutation { deleteGroup(input: {group: {id: "none"}}) { deletedGroupId } }';
    const texts = [
      IDS,
      IDS,
      '{ user(user: {id: "anna"}) { id } }',
      '{ changes(first: 1) { totalCount } }',
      preview,
    ];
    const codes: unknown[] = [];
    for (const text of texts)
      codes.push((await service.query(text, { authorization: token })).errors[0]?.extensions.code);
    const { status } = await fetch(`${service.url}/changes/v1`, { headers: { authorization: token } });
    return [...codes, status, await statusOfPhoto(service), await readinessOf(service)];
  }

  /** Of a URL that was given before the user was hidden. */
  async function statusOfPhoto(service: TestService): Promise<number> {
    const { signing: key } = service.app.get<SigningKeys>(SIGNING_KEYS);
    const path = signUrl({ baseUrl: '', kind: 'photo', id: 'anna', size: null, now: new Date(), key });
    return (await fetch(`${service.url}${path}`)).status;
  }

  const REFUSED = [...Array<string>(5).fill('SERVICE_UNAVAILABLE'), 503, 503, 503];

  it('answer those from whom they can hide something only when the directory has been read', async () => {
    await first.app.close();
    renameSync(file, away);
    const second = await startOther();
    expect(await refusalsOf(second)).toEqual(REFUSED);
    const confidant = await confidantOf(second);
    expect(await second.read(IDS, { authorization: confidant })).toEqual(ALL);
    expect(await second.read('{ directoryStatus { reason } }', { authorization: confidant })).toEqual({
      directoryStatus: {
        reason: expect.stringContaining('. The mirror was written with other rules of visibility.') as string,
      },
    });
    renameSync(away, file);
    await eventually(() => second.query(IDS, { authorization }).then(({ data }) => data), VISIBLE);
    await eventually(() => readinessOf(second), 200);
  });

  it('wait while a process with the former rules leads, and what was remembered then is not served later', async () => {
    const second = await startOther();
    await eventually(() => readinessOf(second), 200);
    expect([await idsOf(second), await idsOf(second)]).toEqual([ALL, ALL]);
    renameSync(file, away);
    await first.app.close();
    await eventually(() => readinessOf(second), 503);
    expect(await refusalsOf(second)).toEqual(REFUSED);
    renameSync(away, file);
    await eventually(() => second.query(IDS, { authorization }).then(({ data }) => data), VISIBLE);
    // A process with the former rules is not affected by a leader with others.
    const former = await startOther('');
    await eventually(() => readinessOf(former), 200);
    expect(await idsOf(former)).toEqual(VISIBLE);
  });
});
