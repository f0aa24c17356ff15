import { buildLdif, personDn } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import type { Answer } from '../support/clients/graphql.js';
import { TestService } from '../support/servers/service.js';
import { forSuite } from '../support/for-suite.js';

const WHO = '{ currentToken { kind scopes clientId userId expiresAt } }';
const HOUR = 3600;

interface Token {
  kind: string;
  scopes: string[];
  clientId: string | null;
  userId: string | null;
  expiresAt: string | null;
}

const MODEL = `
users: {fields: {phone: {attribute: telephoneNumber, type: String, description: The phone number., access: contact}}}
scopes: {contact: Phone numbers.}
`;

const CLEO = `\ndn: ${personDn('cleo')}\nobjectClass: inetOrgPerson\nuid: cleo\ncn: Cleo\nsn: C\ntelephoneNumber: 12\n`;

const LDIF = buildLdif([
  { id: 'Anna', name: 'Anna' },
  { id: 'ben', name: 'Ben' },
  { id: 'jwt-client', name: 'Called like a client' },
]);

function now(): number {
  return Math.floor(Date.now() / 1000);
}

describe('a token of an external issuer', () => {
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  const service = TestService.forSuite(() => ({
    ldif: LDIF + CLEO,
    environment: { ...issuer.environment, ...modelSetting(MODEL) },
  }));

  function sendRequest(authorization: string): Promise<Answer<{ currentToken: Token }>> {
    return service.query(WHO, { authorization });
  }

  async function tokenOf(authorization: string): Promise<Token | undefined> {
    return (await sendRequest(authorization)).data?.currentToken;
  }

  async function refusalOf(authorization: string) {
    const { status, headers, errors } = await sendRequest(authorization);
    return { status, code: errors[0]?.extensions.code, challenge: headers.get('www-authenticate') };
  }

  const REFUSED = {
    status: 401,
    code: 'UNAUTHENTICATED',
    challenge: expect.stringMatching(/^Bearer realm="directory", error="invalid_token"/) as string,
  };

  it.each(['jwt-client', 'opaque-client'])('is accepted from %s, for its user', async (client) => {
    const authorization = await issuer.token(client, { sub: 'ANNA' });
    expect(await tokenOf(authorization)).toMatchObject({
      kind: 'ACCESS_TOKEN',
      scopes: ['profile', 'read'],
      clientId: client,
      userId: 'Anna',
    });
    const data = await service.read('{ profile { id } }', { authorization });
    expect(data).toEqual({ profile: { id: 'Anna' } });
  });

  it('has only those of its scopes that the service defines', async () => {
    expect(
      await tokenOf(await issuer.sign({ payload: { scope: 'openid write  read reader' } })),
    ).toMatchObject({ scopes: ['read', 'write'] });
    expect(await tokenOf(await issuer.sign({ payload: { scope: null } }))).toMatchObject({ scopes: [] });
  });

  it.each<[string, (scope: string) => Promise<string>]>([
    ['signed', (scope) => issuer.sign({ payload: { sub: 'Anna', scope } })],
    ['introspected', (scope) => issuer.opaque({ active: true, sub: 'Anna', scope })],
  ])('reads what needs a scope of the model only with that scope: %s', async (_case, tokenWith) => {
    const query = '{ user(user: {id: "cleo"}) { id phone } currentToken { scopes } }';
    expect(await service.read(query, { authorization: await tokenWith('contact read') })).toEqual({
      user: { id: 'cleo', phone: '12' },
      currentToken: { scopes: ['read', 'contact'] },
    });
    const { data, errors } = await service.query(query, { authorization: await tokenWith('read contacts') });
    expect(data).toEqual({ user: { id: 'cleo', phone: null }, currentToken: { scopes: ['read'] } });
    expect(errors).toMatchObject([
      {
        message: 'The field User.phone is not accessible with this token: it needs the scope contact.',
        extensions: { code: 'INSUFFICIENT_SCOPE', requiredScopes: ['contact'], grantedScopes: ['read'] },
      },
    ]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a claim gty', { sub: 'ben', client_id: 'app', gty: 'client-credentials' }, 'PERSONAL_ACCESS_TOKEN'],
    ['a claim grant_type', { sub: 'ben', grant_type: 'client_credentials' }, 'PERSONAL_ACCESS_TOKEN'],
    ['the client as subject', { sub: 'app', client_id: 'app' }, 'PERSONAL_ACCESS_TOKEN'],
    ['another grant', { sub: 'ben', client_id: 'app', gty: 'password' }, 'ACCESS_TOKEN'],
    ['nothing of its grant', { sub: 'ben', client_id: 'app' }, 'ACCESS_TOKEN'],
    ['only a type', { sub: 'ben', client_id: 'app', token_type: 'personal_access_token' }, 'ACCESS_TOKEN'],
  ])('with %s is of that kind, JWT or introspected', async (_case, claims, kind) => {
    const jwt = await issuer.sign({ payload: claims });
    const opaque = await issuer.opaque({ active: true, scope: 'read', exp: now() + HOUR, ...claims });
    expect([await tokenOf(jwt), await tokenOf(opaque)]).toMatchObject([{ kind }, { kind }]);
  });

  it('is rejected if the issuer does not know it', async () => {
    expect(await refusalOf('Bearer unknown-token')).toEqual(REFUSED);
    expect(await refusalOf('Bearer ory_at_a.b')).toEqual(REFUSED);
  });

  it('is rejected after its expiry', async () => {
    // A JWT is accepted for a minute after its expiry, for differences between clocks.
    const signFor = async (seconds: number) => [
      await issuer.sign({ payload: { exp: now() - 60 + seconds } }),
      await issuer.opaque({ active: true, sub: 'ben', exp: now() - 60 + seconds }),
    ];
    const areAccepted = async () =>
      (await Promise.all(tokens.map(sendRequest))).every(({ status }) => status === 200);
    // Only a busy machine needs more than the first few seconds.
    let tokens = await signFor(3);
    if (!(await areAccepted())) tokens = await signFor(60);
    expect(await areAccepted()).toBe(true);
    await service.until(async () => {
      const answers = await Promise.all(tokens.map(sendRequest));
      return answers.every(({ status }) => status === 401);
    });
  });

  it('never gets the responses of another one', async () => {
    const tokens = await Promise.all(
      ['Anna', 'ben', 'nobody'].flatMap((sub) => [
        issuer.sign({ payload: { sub, scope: 'read' } }),
        issuer.sign({ payload: { sub, scope: 'read profile' } }),
        issuer.opaque({ active: true, sub, scope: 'write', exp: now() + HOUR }),
      ]),
    );
    const first = await Promise.all(tokens.map(tokenOf));
    expect(first.map((token) => token && [token.userId, token.scopes.join(' ')])).toEqual(
      ['Anna', 'ben', null].flatMap((id) => [
        [id, 'read'],
        [id, 'profile read'],
        [id, 'write'],
      ]),
    );
    const shuffled = tokens.map((token, index) => ({ token, expected: first[index] })).reverse();
    const again = await Promise.all(shuffled.map(({ token }) => tokenOf(token)));
    expect(again).toEqual(shuffled.map(({ expected }) => expected));
  });
});
