import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { Environment } from '../../src/config/config.js';
import { groupDn, personDn } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { eventually } from '../support/eventually.js';
import { directorySettings } from '../support/servers/ldap.js';
import { TestService } from '../support/servers/service.js';
import { startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';
import { variable } from '../support/servers/store.js';

/** An attribute with its values in the entry of anna, and the type and value of the field in two models. Null: no field. */
interface Change {
  readonly attribute: string;
  readonly values: readonly string[];
  readonly before: readonly [type: string, value: unknown] | null;
  readonly after: readonly [type: string, value: unknown, attribute?: string] | null;
}

const ben = { id: 'ben' };
const team = { id: 'team' };

/** Fields by their names. */
const CHANGES: Readonly<Record<string, Change>> = {
  toInt: { attribute: 'employeeNumber', values: ['12'], before: ['String', '12'], after: ['Int', 12] },
  toMisfit: { attribute: 'title', values: ['x1'], before: ['String', 'x1'], after: ['Int', null] },
  toFloat: { attribute: 'roomNumber', values: ['7'], before: ['Int', 7], after: ['Float', 7] },
  toList: {
    attribute: 'mobile',
    values: ['2', '1'],
    before: ['String', '2'],
    after: ['[String!]!', ['1', '2']],
  },
  toSingle: {
    attribute: 'pager',
    values: ['4', '3'],
    before: ['[String!]!', ['3', '4']],
    after: ['String', '4'],
  },
  toInstant: {
    attribute: 'street',
    values: ['20200101000000Z'],
    before: ['String', '20200101000000Z'],
    after: ['DateTime', '2020-01-01T00:00:00.000Z'],
  },
  fromInstant: {
    attribute: 'st',
    values: ['20200101000000Z'],
    before: ['DateTime', '2020-01-01T00:00:00.000Z'],
    after: ['String', '20200101000000Z'],
  },
  toBoolean: { attribute: 'l', values: ['TRUE'], before: ['String', 'TRUE'], after: ['Boolean', true] },
  fromBoolean: { attribute: 'ou', values: ['FALSE'], before: ['Boolean', false], after: ['String', 'FALSE'] },
  toUrl: {
    attribute: 'labeledURI',
    values: ['https://example.org/a b'],
    before: ['String', 'https://example.org/a b'],
    after: ['URL', 'https://example.org/a'],
  },
  toUser: {
    attribute: 'seeAlso',
    values: [personDn('ben')],
    before: ['String', personDn('ben')],
    after: ['User', ben],
  },
  fromUser: {
    attribute: 'manager',
    values: [personDn('ben')],
    before: ['User', ben],
    after: ['String', personDn('ben')],
  },
  toUsers: {
    attribute: 'secretary',
    values: [personDn('ben')],
    before: ['User', ben],
    after: ['[User!]!', [ben]],
  },
  toGroup: {
    attribute: 'documentAuthor',
    values: [groupDn('team')],
    before: ['User', null],
    after: ['Group', team],
  },
  moved: {
    attribute: 'carLicense',
    values: ['A 1'],
    before: ['String', 'A 1'],
    after: ['String', '47', 'departmentNumber'],
  },
  // In the first model, only the person sees it.
  widened: {
    attribute: 'employeeType',
    values: ['private'],
    before: ['String', null],
    after: ['String', '47', 'departmentNumber'],
  },
  other: { attribute: 'departmentNumber', values: ['47'], before: ['String', '47'], after: null },
  removed: { attribute: 'owner', values: [personDn('ben')], before: ['[User!]!', [ben]], after: null },
  oldName: { attribute: 'description', values: ['d'], before: ['String', 'd'], after: null },
  newName: { attribute: 'description', values: ['d'], before: null, after: ['String', 'd'] },
};

const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'restarts-'));

function modelOf(side: 'before' | 'after'): string {
  const fields = Object.entries(CHANGES).flatMap(([name, change]) => {
    const { [side]: field, attribute } = change;
    const read = side === 'after' ? (change.after?.[2] ?? attribute) : attribute;
    return field === null
      ? []
      : [
          `    ${name}: {attribute: ${read}, type: "${field[0]}", description: ${name}., ${OPTIONS[side][name] ?? ''}}`,
        ];
  });
  const file = join(directory, `${side}.yaml`);
  writeFileSync(file, ['server: openldap', 'users:', '  fields:', ...fields, ''].join('\n'));
  return file;
}
/** Filters need values beside those of fields, and indexes. */
const FILTERS = { toInt: 'filterable: true', toUrl: 'filterable: true', moved: 'filterable: true' };
const OPTIONS: Readonly<Record<'before' | 'after', Readonly<Record<string, string>>>> = {
  before: { ...FILTERS, widened: 'visibleTo: self' },
  after: FILTERS,
};

/** The selection of all fields of a model, and the values in the entry of anna. */
function expectedOf(side: 'before' | 'after'): { selection: string; values: Record<string, unknown> } {
  const fields = Object.entries(CHANGES).flatMap(([name, { [side]: field }]) =>
    field === null ? [] : [[name, field] as const],
  );
  const select = ([name, [type]]: (typeof fields)[number]) =>
    /User|Group/.test(type) ? `${name} { id }` : name;
  return {
    selection: fields.map(select).join(' '),
    values: Object.fromEntries(fields.map(([name, [, value]]) => [name, value])),
  };
}

const LDIF = [
  [
    `dn: ${personDn('anna')}`,
    ...['inetOrgPerson', 'extensibleObject'].map((name) => `objectClass: ${name}`),
    ...['uid: anna', 'cn: anna', 'sn: anna'],
    ...Object.entries(CHANGES)
      .filter(([name]) => name !== 'newName')
      .flatMap(([, { attribute, values }]) => values.map((value) => `${attribute}: ${value}`)),
    '',
  ].join('\n'),
  `dn: ${personDn('ben')}\nobjectClass: inetOrgPerson\nuid: ben\ncn: ben\nsn: ben\n`,
  `dn: ${groupDn('team')}\nobjectClass: groupOfNames\ncn: team\nmember: ${personDn('ben')}\n`,
].join('\n');

describe('a start with another model', () => {
  const [BEFORE, AFTER] = [modelOf('before'), modelOf('after')];
  let slapd: TestSlapd;
  let first: TestService;
  let second: TestService;
  let authorization: string;

  beforeAll(async () => {
    slapd = await startSlapd({ ldif: LDIF });
    first = await start(BEFORE);
    authorization = await first.serviceAccount('read', 'directory');
  });

  afterAll(async () => {
    await second.app.close();
    await first.stop();
    await slapd.remove();
  });

  async function start(model: string, database: Environment = {}): Promise<TestService> {
    const environment = { ...directorySettings(slapd), ...database, DIRECTORY_MODEL: model };
    return TestService.start({ environment, confirmed: false });
  }

  function databaseUrl(): string {
    const { database } = first.config;
    return database.url;
  }

  /** The fields of anna. No request may have an error. */
  async function read(service: TestService, side: 'before' | 'after'): Promise<Record<string, unknown>> {
    const text = `{ user(user: {id: "anna"}) { ${expectedOf(side).selection} } }`;
    const { user } = await service.read<{ user: Record<string, unknown> }>(text, { authorization });
    return user;
  }

  const valuesOf = (side: 'before' | 'after') => expectedOf(side).values;

  /** Values may be missing until the directory has been read again, and are never those of another type or attribute. */
  function expectRightOrNone(found: Record<string, unknown>, side: 'before' | 'after'): void {
    for (const [name, value] of Object.entries(found)) {
      const isNone = value === null || (Array.isArray(value) && value.length === 0);
      expect({ name, value, isRight: isNone || sameJson(value, valuesOf(side)[name]) }).toEqual({
        name,
        value,
        isRight: true,
      });
    }
  }

  const sameJson = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);

  /** Returns the revision, and the fields and types of the stored references. */
  async function state(service: TestService): Promise<{ revision: string; fields: string[] }> {
    const dataSource = service.app.get(DataSource);
    const [row]: { revision: string }[] = await dataSource.query('select revision from mirror_state');
    const rows: { field: string }[] = await dataSource.query(
      `select distinct r.field from "references" r join users u on u.key = r.from_key order by 1`,
    );
    return {
      revision: row?.revision ?? '',
      fields: rows.map(({ field }) => field.slice(0, field.lastIndexOf(':'))),
    };
  }

  it('serves the values of the first model', async () => {
    await eventually(() => read(first, 'before'), valuesOf('before'));
    expect((await state(first)).fields).toEqual([
      ...['fromUser:User', 'removed:[User!]!', 'toGroup:User', 'toUsers:User'],
    ]);
  });

  it('beside a process with the first model: both serve right values or none, and nothing is read again', async () => {
    const { revision } = await state(first);
    second = await start(AFTER, { DATABASE_URL: databaseUrl() });
    expectRightOrNone(await read(second, 'after'), 'after');
    expect(await read(first, 'before')).toEqual(valuesOf('before'));
    await sleep(2500);
    expect((await state(first)).revision).toBe(revision);
  });

  it('serves old values while the directory is absent, and reads it again as soon as it is back', async () => {
    await slapd.stop();
    await first.app.close();
    const found = await read(second, 'after');
    expectRightOrNone(found, 'after');
    expect(found).toMatchObject({ moved: null, widened: null });
    const byOldValue = '{ users(first: 5, filter: {moved: {is: "A 1"}}) { totalCount } }';
    expect(await second.read(byOldValue, { authorization })).toEqual({ users: { totalCount: 0 } });
    await slapd.start();
    await eventually(() => read(second, 'after'), valuesOf('after'));
    expect((await state(second)).fields).toEqual(['toGroup:Group', 'toUser:User', 'toUsers:[User!]!']);
    for (const filter of ['toInt: {min: 12}', 'toUrl: {startsWith: "https://example.org/"}']) {
      const text = `{ users(first: 5, filter: {${filter}}) { nodes { id } } }`;
      expect(await second.read(text, { authorization })).toEqual({ users: { nodes: [{ id: 'anna' }] } });
    }
  });

  it('is not undone by a process with the first model that starts again', async () => {
    const { revision } = await state(second);
    const again = await start(BEFORE, { DATABASE_URL: databaseUrl() });
    try {
      expectRightOrNone(await read(again, 'before'), 'before');
      await sleep(2500);
      expect(await read(second, 'after')).toEqual(valuesOf('after'));
      expect((await state(second)).revision).toBe(revision);
    } finally {
      await again.app.close();
    }
  });

  it('with a broken file ends with all problems, and changes nothing; running processes keep their model', async () => {
    const before = await state(second);
    writeFileSync(AFTER, 'users: {base: people}\ngroups: {filter: (x}\n');
    const failed = await TestProcess.start('main', [], {
      ...directorySettings(slapd),
      DATABASE_URL: databaseUrl(),
      DIRECTORY_MODEL: AFTER,
    }).end();
    expect([failed.code, failed.stdout]).toEqual([2, '']);
    expect(failed.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/after\.yaml:1:15: users\.base is an invalid DN: /),
      expect.stringMatching(/after\.yaml:2:18: groups\.filter is an invalid filter: /),
    ]);
    expect(await state(second)).toEqual(before);
    const rename = ['changetype: modify', 'replace: employeeNumber', 'employeeNumber: 13', ''];
    await slapd.modify([`dn: uid=anna,ou=people,${SUFFIX}`, ...rename].join('\n'));
    await eventually(() => read(second, 'after'), { ...valuesOf('after'), toInt: 13 });
  });
});
