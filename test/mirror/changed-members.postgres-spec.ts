import { DataSource } from 'typeorm';
import { readConfig } from '../../src/config/config.js';
import { NO_SAMPLE } from '../support/builders/built-in-config.js';
import { buildLdif } from '../support/builders/directory.js';
import { findInconsistencies } from '../support/builders/effective-roles.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readLeftOut, stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const BY_ID = 'groups: {members: {attribute: member, by: id}}';
const BY_ID_AND_UUID =
  'groups: {members: {attribute: member, by: id}, admins: {attribute: groupAdmin, by: uuid}}';

const uuidOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

async function readWith(service: TestService, model: string) {
  const { mapping } = readConfig({ ...NO_SAMPLE, ...modelSetting(model) }).directory;
  return service.synchronize({}, { ...service.config, directory: { ...service.config.directory, mapping } });
}

async function readRoles(service: TestService): Promise<unknown> {
  const count = '(select count(*)::integer from';
  const [roles] = await service.app
    .get(DataSource)
    .query<object[]>(
      `select ${count} effective_memberships where direct_role is not null) as memberships, ${count} nestings) as nestings`,
    );
  return roles;
}

describe('a run with another model', () => {
  const service = TestService.forSuite({ environment: { DIRECTORY_GUARD_PERCENT: '100' } });

  beforeAll(() => stopFollowing(service));

  it.each([
    ['members by id', BY_ID, 1],
    ['members by id and admins by entryUUID', BY_ID_AND_UUID, 0],
  ])('removes what another model no longer names: %s', async (_what, model, memberships) => {
    const people = [0, 1].map((number) => ({ id: `p${number}`, uuid: uuidOf(number) }));
    const inner = { id: 'inner', uuid: uuidOf(9001), members: ['p0'], admins: ['p1'] };
    const outer = { id: 'outer', uuid: uuidOf(9002), members: ['p0', 'p1', '@inner'] };
    service.replaceDirectory(buildLdif(people, [inner, outer]));
    await readWith(service, '{}');
    expect(await readRoles(service)).toMatchObject({ nestings: 1 });
    expect((await readWith(service, model)).kind).toBe('applied');
    expect(await readRoles(service)).toEqual({ memberships, nestings: 0 });
    expect(await findInconsistencies(service)).toEqual([]);
  });
});

describe('a run over a user and a group with one entryUUID', () => {
  const service = TestService.forSuite({ environment: { DIRECTORY_GUARD_PERCENT: '100' } });

  beforeAll(() => stopFollowing(service));

  it('leaves out both, until one of them is gone', async () => {
    const people = [
      { id: 'anna', uuid: uuidOf(1) },
      { id: 'ben', uuid: uuidOf(4) },
    ];
    const inner = { id: 'inner', uuid: uuidOf(1) };
    const outer = { id: 'outer', uuid: uuidOf(2), members: ['anna', '@inner'] };
    const reasons = async () => (await readLeftOut(service)).quarantined.map(({ reason }) => reason);
    service.replaceDirectory(buildLdif(people, [outer]));
    await service.synchronize();
    expect(await readRoles(service)).toEqual({ memberships: 1, nestings: 0 });
    service.replaceDirectory(buildLdif(people, [inner, outer]));
    for (const isWhole of [false, true, false]) {
      await service.synchronize({ isWhole });
      expect(await readRoles(service)).toEqual({ memberships: 0, nestings: 0 });
      expect(await reasons()).toEqual(Array(2).fill('has the same entryUUID as another entry'));
    }
    service.replaceDirectory(buildLdif(people, [outer]));
    await service.synchronize({ isWhole: false });
    expect([await readRoles(service), await reasons()]).toEqual([{ memberships: 1, nestings: 0 }, []]);
  });

  it('nests a group that has the entryUUID of a deleted user', async () => {
    const others = [{ id: 'stays', uuid: uuidOf(3) }];
    const outer = { id: 'outer', uuid: uuidOf(2) };
    service.replaceDirectory(buildLdif([...others, { id: 'turns', uuid: uuidOf(1) }], [outer]));
    await readWith(service, '{}');
    const turned = { id: 'turns', uuid: uuidOf(1) };
    service.replaceDirectory(buildLdif(others, [turned, { ...outer, members: ['@turns'] }]));
    await readWith(service, '{}');
    expect(await readRoles(service)).toEqual({ memberships: 0, nestings: 1 });
    expect(await findInconsistencies(service)).toEqual([]);
  });
});
