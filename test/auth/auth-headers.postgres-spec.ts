import { connect } from 'node:net';
import { forgeTokens, type PublishedKey } from '../support/builders/forged-tokens.js';
import { TestService } from '../support/servers/service.js';

const QUESTION = '{"query":"{ currentToken { kind clientId } }"}';
const SECRET = 'dirsa_secret';

interface RawAnswer {
  status: number;
  challenge: string | undefined;
  kind: unknown;
  code: unknown;
}

describe('the Authorization header', () => {
  const service = TestService.forSuite();
  let bearer: string;
  let basic: string;

  beforeAll(async () => {
    bearer = (await service.accessToken('read')).slice('Bearer '.length);
    basic = (await service.serviceAccount('read')).slice('Basic '.length);
  });

  /** Sends header lines unchanged, because clients normalize some of them. */
  async function send(lines: readonly (string | Buffer)[], target = '/graphql/v1'): Promise<RawAnswer> {
    const head = Buffer.concat([
      Buffer.from(
        `POST ${target} HTTP/1.1\r\nhost: ${service.config.host}\r\ncontent-type: application/json\r\n` +
          `content-length: ${QUESTION.length}\r\nconnection: close\r\n`,
      ),
      ...lines.flatMap((line) => [Buffer.from(line), Buffer.from('\r\n')]),
      Buffer.from(`\r\n${QUESTION}`),
    ]);
    return readAnswer(await exchange(head));
  }

  function exchange(request: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const socket = connect(service.config.port, service.config.host);
      socket.write(request);
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
      socket.on('error', reject);
    });
  }

  function readAnswer(text: string): RawAnswer {
    const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s);
    const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? [];
    const answer = (body.startsWith('{') ? JSON.parse(body) : {}) as {
      data?: { currentToken?: { kind: string } };
      errors?: { extensions: { code: string } }[];
    };
    return {
      status: Number(status),
      challenge: /^www-authenticate: (.*)$/im.exec(head)?.[1],
      kind: answer.data?.currentToken?.kind,
      code: answer.errors?.[0]?.extensions.code,
    };
  }

  function encode(credentials: string | Buffer): string {
    return Buffer.from(credentials).toString('base64');
  }

  const decoded = () => Buffer.from(basic, 'base64').toString();

  it.each<[string, () => string, string]>([
    ['Bearer', () => `Authorization: Bearer ${bearer}`, 'PERSONAL_ACCESS_TOKEN'],
    ['BEARER', () => `AUTHORIZATION: BEARER ${bearer}`, 'PERSONAL_ACCESS_TOKEN'],
    ['two spaces after Bearer', () => `Authorization: Bearer  ${bearer}`, 'PERSONAL_ACCESS_TOKEN'],
    [
      'spaces and tabs around the whole value',
      () => `Authorization: \t Bearer ${bearer} \t`,
      'PERSONAL_ACCESS_TOKEN',
    ],
    [
      'no space after the colon of the header',
      () => `Authorization:Bearer ${bearer}`,
      'PERSONAL_ACCESS_TOKEN',
    ],
    ['Basic', () => `Authorization: Basic ${basic}`, 'SERVICE_ACCOUNT_TOKEN'],
    ['three spaces after Basic', () => `Authorization: Basic   ${basic}`, 'SERVICE_ACCOUNT_TOKEN'],
  ])('is accepted with %s', async (_case, line, kind) =>
    expect(await send([line()])).toMatchObject({ status: 200, kind }),
  );

  it.each<[string, () => (string | Buffer)[]]>([
    ['nothing', () => ['Authorization:']],
    ['Bearer and no token', () => ['Authorization: Bearer']],
    ['Basic and no token', () => ['Authorization: Basic']],
    ['a token without a scheme', () => [`Authorization: ${bearer}`]],
    ['another scheme', () => [`Authorization: Digest ${bearer}`]],
    ['Bearerx', () => [`Authorization: Bearerx ${bearer}`]],
    ['Basic in the middle', () => [`Authorization: Not Basic ${basic}`]],
    ['no space', () => [`Authorization: Bearer${bearer}`]],
    ['an equals sign after the scheme', () => [`Authorization: Bearer=${bearer}`]],
    ['a tab instead of the space', () => [`Authorization: Bearer\t${bearer}`]],
    ['a second word', () => [`Authorization: Bearer ${bearer} more`]],
    ['a comma after it', () => [`Authorization: Bearer ${bearer},`]],
    ['two tokens in one', () => [`Authorization: Bearer ${bearer}, Bearer ${bearer}`]],
    ['two schemes in one', () => [`Authorization: Bearer ${bearer}, Basic ${basic}`]],
    ['quotes', () => [`Authorization: Bearer "${bearer}"`]],
    ['parameters', () => [`Authorization: Bearer token="${bearer}"`]],
    ['characters that are invalid in tokens', () => [`Authorization: Bearer ${bearer}?{}`]],
    ['a letter after the padding', () => [`Authorization: Bearer ${bearer}a`]],
    ['bytes above ASCII', () => [Buffer.from(`Authorization: Bearer ${bearer}é`)]],
    ['bytes that are not UTF-8', () => [Buffer.from(`Authorization: Bearer ${bearer}\xff`, 'latin1')]],
    ['the header twice', () => [`Authorization: Bearer ${bearer}`, `Authorization: Bearer ${bearer}`]],
    [
      'the header twice in two cases',
      () => [`Authorization: Bearer ${bearer}`, `authorization: Basic ${basic}`],
    ],
    ['the header twice, once empty', () => [`Authorization: Bearer ${bearer}`, 'Authorization:']],
    ['a service-account token as Bearer', () => [`Authorization: Bearer ${basic}`]],
    ['an access token as Basic', () => [`Authorization: Basic ${bearer}`]],
    ['only dots', () => ['Authorization: Bearer ...']],
    ['a JWT header that is not JSON', () => ['Authorization: Bearer YQ.YQ.YQ']],
    ['no colon', () => [`Authorization: Basic ${encode('no-colon')}`]],
    ['a colon first', () => [`Authorization: Basic ${encode(`:${decoded()}`)}`]],
    ['no id', () => [`Authorization: Basic ${encode(`:${SECRET}`)}`]],
    ['no secret', () => [`Authorization: Basic ${encode('colons:')}`]],
    ['a secret with a line end', () => [`Authorization: Basic ${encode(`${decoded()}\n`)}`]],
    ['an id in capitals', () => [`Authorization: Basic ${encode(decoded().replace(/^test/, 'TEST'))}`]],
    ['percent signs', () => [`Authorization: Basic ${encode('%63olons:%zz')}`]],
    ['NUL in the secret', () => [`Authorization: Basic ${encode(`${decoded()}\0`)}`]],
    [
      'credentials that are not UTF-8',
      () => [`Authorization: Basic ${encode(Buffer.from([0xff, 0xfe, 0x3a, 0xff]))}`],
    ],
    ['too much padding', () => [`Authorization: Basic ${encode('colons:1')}===`]],
    [
      'the URL-safe alphabet',
      () => [`Authorization: Basic ${Buffer.from('colons:???>>>').toString('base64url')}`],
    ],
    ['not encoded at all', () => ['Authorization: Basic colons:secret']],
    [
      'credentials that are very long',
      () => [`Authorization: Basic ${encode(`colons:${'x'.repeat(9000)}`)}`],
    ],
    ['a token that is very long', () => [`Authorization: Bearer ${'x'.repeat(14_000)}`]],
    ['another header', () => [`Proxy-Authorization: Bearer ${bearer}`]],
    ['a cookie', () => [`Cookie: access_token=${bearer}; Authorization=Bearer ${bearer}`]],
    [
      'a header of a proxy',
      () => [`X-Forwarded-Authorization: Bearer ${bearer}`, 'X-Forwarded-User: colons'],
    ],
  ])('is answered with 401 and a challenge for %s', async (_case, lines) => {
    const answer = await send(lines());
    expect(answer).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
    expect(answer.challenge).toMatch(/^(Bearer|Basic) realm="directory"/);
  });

  it('with a token that the embedded provider has not signed is rejected', async () => {
    const response = await fetch(`${service.url}/oauth2/jwks`);
    const { keys } = (await response.json()) as { keys: PublishedKey[] };
    const forgeries = forgeTokens({ token: bearer, keys, foreignServer: 'http://127.0.0.1:9/' });
    const answers = await Promise.all(forgeries.map(([, token]) => send([`Authorization: Bearer ${token}`])));
    const wrong = forgeries.filter((_, index) => answers[index]?.status !== 401);
    expect(wrong.map(([what]) => what)).toEqual([]);
  });

  it('with a service account is rejected from a page of another site', async () => {
    const response = await fetch(`${service.url}/graphql/v1?query={__typename}`, {
      headers: { authorization: `Basic ${basic}`, 'sec-fetch-site': 'cross-site' },
    });
    expect(response.status).toBe(403);
  });
});
