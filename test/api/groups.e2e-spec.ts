import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

describe('a group', () => {
  let service: TestService;
  let authorization: string;

  beforeAll(async () => {
    service = await TestService.start({
      ldif: buildLdif(
        [
          { id: 'anna', name: 'Anna Åberg' },
          { id: 'ben', name: 'Ben' },
          { id: 'cleo', name: 'Cleo' },
        ],
        [
          { id: 'club', name: 'Club', members: ['anna', '@team'], owners: ['ben'] },
          { id: 'team', name: 'Team', members: ['cleo'], admins: ['anna'] },
        ],
      ),
    });
    authorization = await service.serviceAccount('read');
  });

  afterAll(() => service.stop());

  it('has the people it names and those of the groups inside it, with where their role comes from', async () => {
    const { data } = await service.query(
      `{ group(group: {id: "CLUB"}) { id members(first: 10) { totalCount nodes {
        user { id } role { value direct inheritedFrom { id } } } } } }`,
      { authorization },
    );
    expect(data).toEqual({
      group: {
        id: 'club',
        members: {
          totalCount: 3,
          nodes: [
            { user: { id: 'anna' }, role: { value: 'MEMBER', direct: 'MEMBER', inheritedFrom: [] } },
            { user: { id: 'ben' }, role: { value: 'OWNER', direct: 'OWNER', inheritedFrom: [] } },
            {
              user: { id: 'cleo' },
              role: { value: 'MEMBER', direct: null, inheritedFrom: [{ id: 'team' }] },
            },
          ],
        },
      },
    });
  });
});
