import { preview, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

/** The callers: a service account with the scope directory, users with each role in the board, and users without a role. */
const CALLERS = [
  ...(['administrator', 'olga', 'adam', 'mia', 'ines', 'sven', 'machine', 'ghost', 'account'] as const),
];

const IN_BOARD = 'group: {id: "board"}';

/** Independent mutations with the outcome for each caller; F is FORBIDDEN. */
const OUTCOMES: [mutation: string, outcomes: string][] = [
  ['updateProfile(input: {name: "Other"}) { profile { name } }', 'N ok ok ok ok ok N N N'],
  ['createGroup(input: {id: "own", name: "Own"}) { group { id } }', 'ok ok ok ok ok ok N N N'],
  [
    'createGroup(input: {id: "inside", name: "Inside", parent: {id: "board"}}) { group { id } }',
    'ok ok ok F F F N N N',
  ],
  [`updateGroup(input: {${IN_BOARD}, name: "Council"}) { group { name } }`, 'ok ok F F F F F F F'],
  [added('sven', 'MEMBER'), 'ok ok ok F F F F F F'],
  [added('five', 'ADMIN'), 'ok ok F F F F F F F'],
  [added('six', 'OWNER'), 'ok ok F F F F F F F'],
  [
    `updateGroupMember(input: {${IN_BOARD}, user: {id: "one"}, role: ADMIN}) { membership { user { id } } }`,
    'ok ok F F F F F F F',
  ],
  [removed('two'), 'ok ok ok F F F F F F'],
  [removed('three'), 'ok ok F F F F F F F'],
  [removed('four'), 'ok ok F F F F F F F'],
  [`deleteGroup(input: {${IN_BOARD}}) { deletedGroupId }`, 'ok ok F F F F F F F'],
];

function added(id: string, role: string): string {
  return `addGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}, role: ${role}}) { membership { user { id } } }`;
}

function removed(id: string): string {
  return `removeGroupMember(input: {${IN_BOARD}, user: {id: "${id}"}}) { group { id } }`;
}

const CODES: Partial<Record<string, string>> = { F: 'FORBIDDEN', N: 'NO_USER_CONTEXT' };

describe('the right to preview', () => {
  const service = forSuite(() => startPreviews());

  async function authorizationOf(caller: (typeof CALLERS)[number]): Promise<string> {
    if (caller === 'administrator') return service.serviceAccount('profile', 'directory', 'write');
    return caller === 'account' ? service.serviceAccount('profile', 'read', 'write') : caller;
  }

  it.each(CALLERS)('matches the table of docs/clients.md for %s', async (caller) => {
    const mutations = OUTCOMES.map(([mutation], index) => `m${index}: ${mutation}`);
    const { status, data, errors } = await preview(
      service,
      await authorizationOf(caller),
      `mutation { ${mutations.join(' ')} }`,
    );
    expect(status).toBe(200);
    const found = OUTCOMES.map(([mutation], index) => {
      const error = errors.find(({ path }) => path?.[0] === `m${index}`);
      return [mutation, data?.[`m${index}`] === null ? error?.extensions.code : 'ok'];
    });
    const expected = OUTCOMES.map(([mutation, outcomes]) => {
      const outcome = outcomes.split(' ')[CALLERS.indexOf(caller)] ?? '';
      return [mutation, CODES[outcome] ?? outcome];
    });
    expect(found).toEqual(expected);
  });

  it('is missing for the reason in the error', async () => {
    const { errors } = await preview(
      service,
      'adam',
      `mutation { ${added('sven', 'OWNER')} profile: updateGroup(input: {${IN_BOARD}, name: "X"}) { group { id } } }`,
    );
    expect(errors).toMatchObject([
      {
        message:
          'Only an OWNER of the group, or a token with the scopes directory and write, may add a user as OWNER: ' +
          'this token acts for an ADMIN of it',
        extensions: { argument: 'group' },
      },
      {
        message:
          'Only an OWNER of the group, or a token with the scopes directory and write, may change it: ' +
          'this token acts for an ADMIN of it',
      },
    ]);
  });

  it('changes of other users requires the scope directory', async () => {
    const mutation = 'mutation { updateUser(input: {user: {id: "olga"}, name: "Other"}) { user { name } } }';
    for (const caller of ['olga', 'machine', 'account'] as const) {
      const { status, errors } = await preview(service, await authorizationOf(caller), mutation);
      expect(status).toBe(403);
      expect(errors).toMatchObject([
        { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['directory', 'write'] } },
      ]);
    }
    const authorization = await service.accessToken('directory write', 'machine-app');
    expect((await preview(service, authorization, mutation)).data).toEqual({
      updateUser: { user: { name: 'Other' } },
    });
  });

  it('depends on earlier changes of the same operation', async () => {
    const { errors } = await preview(
      service,
      'olga',
      `mutation {
        updateGroupMember(input: {${IN_BOARD}, user: {id: "olga"}, role: ADMIN}) { membership { role { value } } }
        ${added('sven', 'MEMBER')}
        late: updateGroup(input: {${IN_BOARD}, name: "Council"}) { group { name } }
      }`,
    );
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([[['late'], 'FORBIDDEN']]);
  });
});
