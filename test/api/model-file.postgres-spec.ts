import { buildSchema, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { challengeOf } from '../support/clients/http.js';
import { modelSetting } from '../support/builders/model-file.js';
import { writeClients } from '../support/clients/clients.js';
import { takeOver } from '../support/clients/mirror.js';
import { signIn } from '../support/clients/sign-in.js';
import { TestService } from '../support/servers/service.js';

const MODEL = `
users:
  base: [ou=people, ou=staff]
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number., access: contact, filterable: true}
    desk: {attribute: roomNumber, type: Int, description: The desk.}
    fax:
      attribute: facsimileTelephoneNumber
      type: String
      description: The fax number.
      filterable: true
      editable: true
      deprecated: Use phone.
    deputy:
      attribute: secretary
      type: User
      description: The deputy.
      reverse: deputyOf
      deprecated: Use phone.
groups:
  members: {attribute: memberUid, by: id}
  admins: {attribute: groupAdmin, by: uuid}
  filter: (objectClass=posixGroup)
scopes:
  contact: Phone numbers and addresses.
`;

const UUID = '00000000-0000-4000-8000-00000000000';

const user = (id: string, ou: string, more: string[] = []) =>
  [
    `dn: uid=${id},ou=${ou},dc=example,dc=org`,
    ...['objectClass: inetOrgPerson', `uid: ${id}`, `cn: ${id}`, `sn: ${id}`],
    ...[`telephoneNumber: +41 ${id}`, 'roomNumber: 3', ...more, ''],
  ].join('\n');

const LDIF = [
  'version: 1\n',
  user('Ada', 'people', [`entryUUID: ${UUID}1`]),
  user('ben', 'staff', [`entryUUID: ${UUID}2`]),
  user('cleo', 'former', [`entryUUID: ${UUID}3`]),
  // A group with the id of a user, which is no member by that id.
  `dn: cn=ben,ou=groups,dc=example,dc=org\nobjectClass: posixGroup\ncn: ben\nentryUUID: ${UUID}4\nmemberUid: ada\nmemberUid: ben\nmemberUid: dora\ngroupAdmin: ${UUID}2\n`,
].join('\n');

describe('a service with a model file', () => {
  const service = TestService.forSuite(() => ({
    ldif: LDIF,
    environment: {
      ...modelSetting(MODEL),
      AUTH_EMBEDDED_CLIENTS: writeClients([
        { id: 'with', owner: 'ada', scopes: ['read', 'directory', 'contact'] },
        { id: 'without', owner: 'ada', scopes: ['read', 'directory'] },
      ]),
    },
  }));

  const PHONE = '{ user(user: {id: "ada"}) { id phone desk } }';

  it('reads users below several bases, and no others', async () => {
    const authorization = await service.serviceAccount('directory', 'read');
    const { users } = await service.read<{ users: unknown }>(
      '{ users(first: 9) { totalCount nodes { id desk } } }',
      {
        authorization,
      },
    );
    expect(users).toEqual({
      totalCount: 2,
      nodes: [
        { id: 'Ada', desk: 3 },
        { id: 'ben', desk: 3 },
      ],
    });
  });

  it('reads members by id and admins by entryUUID', async () => {
    const authorization = await service.serviceAccount('read');
    const members = async () => {
      const { group } = await service.read<{ group: unknown }>(
        '{ group(group: {id: "ben"}) { members(first: 9) { nodes { user { id } role { value } } } subgroups(first: 9) { totalCount } } }',
        { authorization },
      );
      return group;
    };
    const before = {
      members: {
        nodes: [
          { user: { id: 'Ada' }, role: { value: 'MEMBER' } },
          { user: { id: 'ben' }, role: { value: 'ADMIN' } },
        ],
      },
      subgroups: { totalCount: 0 },
    };
    expect(await members()).toEqual(before);

    // A user with an id that a group names already, another id of a member, and a member that is gone.
    await takeOver(
      service,
      [LDIF.replace('uid: Ada\n', 'uid: eve\n'), user('dora', 'people', [`entryUUID: ${UUID}5`])].join('\n'),
    );
    expect(await members()).toMatchObject({
      members: { nodes: [{ user: { id: 'ben' }, role: { value: 'ADMIN' } }, { user: { id: 'dora' } }] },
    });
    await takeOver(service, LDIF);
    expect(await members()).toEqual(before);
  });

  it('gives a field with a scope of the model to tokens that have the scope', async () => {
    const { data, errors } = await service.query(PHONE, {
      authorization: await service.accessToken('read', 'without'),
    });
    expect(data).toEqual({ user: { id: 'Ada', phone: null, desk: 3 } });
    expect(errors).toMatchObject([
      { extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['contact'], grantedScopes: ['read'] } },
    ]);
    const authorization = await service.accessToken('read contact', 'with');
    expect(await service.read(PHONE, { authorization })).toEqual({
      user: { id: 'Ada', phone: '+41 Ada', desk: 3 },
    });
    expect(
      await service.read(PHONE, { authorization: await service.serviceAccount('read', 'contact') }),
    ).toEqual({
      user: { id: 'Ada', phone: '+41 Ada', desk: 3 },
    });
    const { currentToken } = await service.read<{ currentToken: unknown }>('{ currentToken { scopes } }', {
      authorization,
    });
    expect(currentToken).toEqual({ scopes: ['read', 'contact'] });
  });

  it('names the missing scope of the model in the challenge, as it does for built-in scopes', async () => {
    const query = '{ users(first: 9, filter: {phone: {is: "+41 ben"}}) { nodes { id } } }';
    const refused = await service.query(query, {
      authorization: await service.accessToken('read directory', 'without'),
    });
    expect([refused.status, refused.data]).toEqual([403, undefined]);
    expect(challengeOf(refused.headers.get('www-authenticate'))).toBe(
      'Bearer error="insufficient_scope", scope="contact"',
    );
    expect(refused.errors).toMatchObject([
      {
        message: expect.stringContaining('needs the scope contact') as string,
        extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['contact'] },
      },
    ]);
    const authorization = await service.accessToken('read directory contact', 'with');
    expect(await service.read(query, { authorization })).toEqual({ users: { nodes: [{ id: 'ben' }] } });
  });

  it('issues a token with its scopes to a user who signs in', async () => {
    const { baseUrl, explorer } = service.config;
    const { grantedScope, authorization } = await signIn(baseUrl, {
      clientId: explorer?.clientId ?? '',
      redirectUri: explorer?.redirectUri ?? '',
      userId: 'ada',
      scope: 'read contact',
    });
    expect(grantedScope).toBe('read contact');
    expect(await service.read(PHONE, { authorization })).toMatchObject({ user: { phone: '+41 Ada' } });
  });

  it('names its scopes where clients look for them', async () => {
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const discovery = await fetch(`${service.url}/.well-known/${name}`);
      expect(await discovery.json()).toMatchObject({
        scopes_supported: expect.arrayContaining(['read', 'contact']) as string[],
      });
    }
    expect(await (await fetch(`${service.url}/explorer`)).text()).toContain('contact');
  });

  it('grants no scope that the model does not have', async () => {
    const response = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('with:with-secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read confidential' }),
    });
    expect([response.status, await response.json()]).toMatchObject([200, { scope: 'read' }]);
  });

  it('deprecates fields, and what is derived from them', async () => {
    const sdl = await (await fetch(`${service.url}/graphql/v1/schema.graphql`)).text();
    const deprecated = Object.values(buildSchema(sdl).getTypeMap()).flatMap((type) =>
      isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)
        ? Object.values(type.getFields())
            .filter(({ deprecationReason }) => deprecationReason === 'Use phone.')
            .map(({ name }) => `${type.name}.${name}`)
        : [],
    );
    const types = ['Person', 'Profile', 'ProfilePreview', 'User', 'UserPreview'];
    expect(deprecated.sort()).toEqual(
      [
        ...types.flatMap((type) => ['deputy', 'deputyOf', 'fax'].map((name) => `${type}.${name}`)),
        ...['UpdateUserInput', 'UserFilter', 'UserMemberFilter'].map((type) => `${type}.fax`),
      ].sort(),
    );
  });
});
