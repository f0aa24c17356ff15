/** @isolated It adds to the tables of fields. */
import { DataSource } from 'typeorm';
import type { FieldDefinition } from '../../src/common/field.js';
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { addAttributes } from '../support/builders/custom-fields.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

function reference(
  name: string,
  type: string,
  more: Partial<FieldDefinition> & Pick<FieldDefinition, 'reference'>,
): FieldDefinition {
  const description = 'A reference that a test adds.';
  return { name, type, description, attributes: [name], reader: 'reference', column: null, ...more };
}

const OF_USERS = [
  reference('manager', 'User', { reference: { to: 'user', reverse: 'reports' } }),
  reference('deputies', '[User!]!', { reference: { to: 'user', reverse: null } }),
  reference('department', 'Group', { reference: { to: 'group', reverse: 'staff' } }),
  reference('mentor', 'User', { reference: { to: 'user', reverse: 'mentees' }, visibleTo: 'self' }),
  reference('auditor', 'User', { reference: { to: 'user', reverse: 'audits' }, scopes: ['write'] }),
];
const OF_GROUPS = [reference('contact', 'User', { reference: { to: 'user', reverse: 'contactOf' } })];

const VIEWER = 'ada.martin';
const NAMES = ['ada.martin', 'ben', 'cleo', 'dan', 'eve'];

type Lines = Record<string, [attribute: string, value: string][]>;

const LINES: Lines = {
  [VIEWER]: [
    ['manager', personDn('ben')],
    ['mentor', personDn('CLEO')],
    ['auditor', personDn('ben')],
  ],
  ben: [
    ['manager', personDn(VIEWER)],
    ['deputies', personDn('dan')],
    ['deputies', `UID = Cleo ,ou=people,dc=example,dc=org`],
    ['deputies', personDn('late')],
    ['department', groupDn('choir')],
    ['mentor', personDn('cleo')],
  ],
  cleo: [
    ['manager', personDn('ben')],
    ['department', groupDn('choir')],
  ],
  dan: [
    ['manager', personDn('ben')],
    ['manager', personDn('cleo')],
    ['department', personDn('ben')],
  ],
  choir: [['contact', personDn('ben')]],
  club: [['contact', 'not a dn']],
};

function directory(people = NAMES, lines: Lines = LINES): string {
  const ldif = buildLdif(
    people.map((id) => ({ id })),
    [{ id: 'choir', members: people.filter((id) => id !== 'dan') }, { id: 'club' }],
  );
  return addAttributes(ldif, lines);
}

describe('references between users and groups', () => {
  const service = TestService.forSuite(() => {
    USER_FIELDS.push(...OF_USERS);
    GROUP_FIELDS.push(...OF_GROUPS);
    return { ldif: directory() };
  });
  let account: string;
  let viewer: string;

  beforeAll(async () => {
    await stopFollowing(service);
    account = await service.serviceAccount('read', 'directory', 'write');
    viewer = await service.accessToken('profile read');
  });

  const sendRequest = (query: string, authorization = account) => service.read(query, { authorization });
  const ofUser = (id: string, selection: string) => `{ user(user: {id: "${id}"}) { ${selection} } }`;

  it('are the objects that an entry names, if there are such objects', async () => {
    const selection = 'manager { id name } deputies { id } department { id }';
    expect(await sendRequest(ofUser('ben', selection))).toEqual({
      user: {
        manager: { id: VIEWER, name: VIEWER },
        deputies: [{ id: 'cleo' }, { id: 'dan' }],
        department: { id: 'choir' },
      },
    });
    expect(await sendRequest(ofUser('dan', selection))).toEqual({
      user: { manager: { id: 'ben', name: 'ben' }, deputies: [], department: null },
    });
    expect(await sendRequest('{ groups(first: 5) { nodes { id contact { id } } } }')).toEqual({
      groups: {
        nodes: [
          { id: 'choir', contact: { id: 'ben' } },
          { id: 'club', contact: null },
        ],
      },
    });
    expect(
      await sendRequest('{ profile { manager { id } reports(first: 1) { totalCount } } }', viewer),
    ).toEqual({ profile: { manager: { id: 'ben' }, reports: { totalCount: 1 } } });
  });

  it('are connections on the other side: paged, counted, filtered and ordered', async () => {
    const page = (args: string) =>
      sendRequest(
        ofUser('ben', `reports(${args}) { nodes { id } totalCount pageInfo { hasNextPage endCursor } }`),
      );
    interface Reports {
      user: { reports: { nodes: { id: string }[]; pageInfo: { endCursor: string } } };
    }
    const first = (await page('first: 2')) as unknown as Reports;
    expect(first).toMatchObject({
      user: {
        reports: { nodes: [{ id: VIEWER }, { id: 'cleo' }], totalCount: 3, pageInfo: { hasNextPage: true } },
      },
    });
    expect(await page(`first: 2, after: "${first.user.reports.pageInfo.endCursor}"`)).toMatchObject({
      user: { reports: { nodes: [{ id: 'dan' }], totalCount: 3, pageInfo: { hasNextPage: false } } },
    });
    expect(await page('last: 1, orderBy: {field: NAME, direction: DESC}')).toMatchObject({
      user: { reports: { nodes: [{ id: VIEWER }] } },
    });
    expect(await page('first: 5, orderBy: {field: UPDATED_AT}')).toMatchObject({
      user: { reports: { totalCount: 3 } },
    });
    for (const filter of ['search: "cle"', 'search: "cleo", memberOf: {id: "choir"}'])
      expect(await page(`first: 5, filter: {${filter}}`)).toMatchObject({
        user: { reports: { nodes: [{ id: 'cleo' }], totalCount: 1 } },
      });
    expect(await page('first: 5, filter: {memberOf: {id: "choir"}}')).toMatchObject({
      user: { reports: { nodes: [{ id: VIEWER }, { id: 'cleo' }], totalCount: 2 } },
    });
    expect(
      await sendRequest(
        '{ group(group: {id: "choir"}) { staff(first: 5) { nodes { id } totalCount } contact { contactOf(first: 1) { nodes { id } totalCount } } } }',
      ),
    ).toEqual({
      group: {
        staff: { nodes: [{ id: 'ben' }, { id: 'cleo' }], totalCount: 2 },
        contact: { contactOf: { nodes: [{ id: 'choir' }], totalCount: 1 } },
      },
    });
  });

  it('have an audience, in both directions', async () => {
    const query =
      '{ group(group: {id: "choir"}) { members(first: 9) { nodes { user { id mentor { id } mentees(first: 5) { nodes { id } totalCount } } } } } }';
    const seen = async (authorization: string) => {
      const { group } = (await sendRequest(query, authorization)) as unknown as {
        group: { members: { nodes: { user: Record<string, unknown> }[] } };
      };
      return group.members.nodes
        .map(({ user }) => user)
        .filter(({ id }) => id === VIEWER || id === 'ben' || id === 'cleo');
    };
    const none = { nodes: [], totalCount: 0 };
    for (let round = 0; round < 3; round++) {
      expect(await seen(viewer)).toEqual([
        { id: VIEWER, mentor: { id: 'cleo' }, mentees: none },
        { id: 'ben', mentor: null, mentees: none },
        { id: 'cleo', mentor: null, mentees: { nodes: [{ id: VIEWER }], totalCount: 1 } },
      ]);
      expect(await seen(account)).toEqual(
        [VIEWER, 'ben', 'cleo'].map((id) => ({ id, mentor: null, mentees: none })),
      );
    }
  });

  it('need the scope of the field, in both directions', async () => {
    expect(await sendRequest(ofUser('ben', 'audits(first: 2) { nodes { id } }'))).toEqual({
      user: { audits: { nodes: [{ id: VIEWER }] } },
    });
    for (const selection of ['auditor { id }', 'audits(first: 1) { totalCount }']) {
      const { data, errors } = await service.query(ofUser('ben', `id ${selection}`), {
        authorization: viewer,
      });
      expect(data).toMatchObject({ user: { id: 'ben' } });
      expect(errors).toMatchObject([
        { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['read', 'write'] } },
      ]);
    }
  });

  it('follow changes: new targets, deleted ones, late ones and other names', async () => {
    const selection = 'manager { id } deputies { id } reports(first: 9) { nodes { id } totalCount }';
    const change = async (people: string[], lines: Lines) => {
      service.replaceDirectory(directory(people, lines));
      const outcome = await service.synchronize();
      if (outcome.kind === 'blocked') await service.synchronize({ confirm: outcome.hash });
    };
    // Eve becomes a report of Dan. A deputy of Ben is created after the reference to it.
    await change([...NAMES, 'late'], { ...LINES, eve: [['manager', personDn('dan')]], cleo: [] });
    expect(await sendRequest(ofUser('ben', selection))).toMatchObject({
      user: {
        manager: { id: VIEWER },
        deputies: [{ id: 'cleo' }, { id: 'dan' }, { id: 'late' }],
        reports: { nodes: [{ id: VIEWER }, { id: 'dan' }], totalCount: 2 },
      },
    });
    expect(await sendRequest(ofUser('dan', selection))).toMatchObject({
      user: { reports: { nodes: [{ id: 'eve' }], totalCount: 1 } },
    });
    const { changes } = (await sendRequest('{ changes(last: 9) { nodes { kind user { id } } } }')) as {
      changes: { nodes: unknown[] };
    };
    expect(changes.nodes).toEqual(
      expect.arrayContaining([
        { kind: 'USER_UPDATED', user: { id: 'eve' } },
        { kind: 'USER_UPDATED', user: { id: 'cleo' } },
      ]),
    );
    // Ben leaves: what named him stays in the directory, and names no one.
    await change(['ada.martin', 'cleo', 'dan', 'eve', 'late'], LINES);
    expect(await sendRequest(ofUser(VIEWER, selection))).toMatchObject({
      user: { manager: null, reports: { nodes: [], totalCount: 0 } },
    });
    expect(await sendRequest(ofUser('eve', selection))).toMatchObject({ user: { manager: null } });
    expect(
      await service.app
        .get(DataSource)
        .query('select from "references" where from_key not in (select key from entries)'),
    ).toEqual([]);
    // Ben comes back.
    await change([...NAMES, 'late'], LINES);
    expect(await sendRequest(ofUser(VIEWER, selection))).toMatchObject({
      user: { manager: { id: 'ben' }, reports: { nodes: [{ id: 'ben' }], totalCount: 1 } },
    });
  });
});
