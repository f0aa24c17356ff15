import { randomUUID } from 'node:crypto';
import { buildLdif, type TestPerson } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { followChanges, readChanges, summarizeChange } from '../support/clients/changes.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const ANNA = {
  id: 'anna',
  uuid: randomUUID(),
  schoolYear: '1A Élite',
  phone: '+49 30 1',
  manager: 'ben',
};
const BEN = { id: 'ben', uuid: randomUUID() };
const CHOIR = { id: 'choir', uuid: randomUUID(), members: ['anna'] };
const SPELLED = `
users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone., filterable: true, editable: true}
    manager: {attribute: manager, type: User, description: The manager.}
`;

describe('the log of changes of spellings', () => {
  const service = TestService.forSuite(() => ({ ldif: '', environment: modelSetting(SPELLED) }));
  let authorization: string;

  beforeAll(async () => {
    await stopFollowing(service);
    authorization = await service.serviceAccount('read', 'directory', 'write');
  });

  /** Applies a directory with Anna, and returns the new changes and what clients see. */
  async function changesBy(anna: Partial<TestPerson>, others: TestPerson[] = [BEN]) {
    const end = (await readChanges(service, authorization, 'last: 1')).pageInfo.endCursor;
    service.replaceDirectory(buildLdif([{ ...ANNA, ...anna }, ...others], [CHOIR]));
    const { kind } = await service.synchronize();
    expect(await service.synchronize()).toEqual({ kind: 'unchanged' });
    const { changes } = await followChanges(service, authorization, end);
    const { group, user } = await service.read<{ group: unknown; user: { updatedAt: string } }>(
      `{ group(group: {id: "choir"}) { members(first: 1) { nodes { user { schoolYear phone } } } }
         user(user: {id: "anna"}) { updatedAt } }`,
      { authorization },
    );
    return { kind, changes: changes.map(summarizeChange), group, updatedAt: user.updatedAt };
  }

  const shown = (schoolYear: string, phone: string) => ({
    kind: 'applied',
    group: { members: { nodes: [{ user: { schoolYear, phone } }] } },
  });

  it('contains no other spelling of a value, which clients see and previews delete', async () => {
    const { updatedAt } = await changesBy({});
    const respelled = { schoolYear: ' 1a  Élite', phone: '+49(30)1' };
    const silent = { changes: [], updatedAt };
    expect(await changesBy(respelled)).toEqual({ ...shown('1a  Élite', '+49(30)1'), ...silent });
    const { updateUser } = await service.read<{ updateUser: { preview: { ldif: string } } }>(
      'mutation { updateUser(input: {user: {id: "anna"}, schoolYear: "2B", phone: "+49 30 2"}) { preview { ldif } } }',
      { authorization },
    );
    const encoded = Buffer.from(respelled.schoolYear).toString('base64');
    expect(updateUser.preview.ldif).toContain(`delete: schoolYear\nschoolYear:: ${encoded}\n`);
    expect(updateUser.preview.ldif).toContain(`delete: telephoneNumber\ntelephoneNumber: +49(30)1\n`);
    expect(await changesBy({ schoolYear: '\uff11A E\u0301LITE' })).toEqual({
      ...shown('\uff11A E\u0301LITE', '+49 30 1'),
      ...silent,
    });
  });

  it('contains other changes of the same entry, and of what it refers to', async () => {
    const updated = { changes: ['USER_UPDATED anna'], updatedAt: expect.any(String) as string };
    expect(await changesBy({ schoolYear: '1a Élite', name: 'Anne' })).toEqual({
      ...shown('1a Élite', '+49 30 1'),
      ...updated,
    });
    expect(await changesBy({ schoolYear: '1a Elite', name: 'Anne' })).toMatchObject(updated);
    expect((await changesBy({ schoolYear: '1A ELITE', name: 'Anne' }, [])).changes).toEqual([
      'USER_DELETED ben',
      'USER_UPDATED anna',
    ]);
  });
});
