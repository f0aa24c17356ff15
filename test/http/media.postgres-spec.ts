import sharp from 'sharp';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { buildLdif, type TestPerson } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const KEY = Buffer.alloc(32, 'key');

describe('a photo', () => {
  let service: TestService;
  let authorization: string;
  let anna: TestPerson;

  beforeAll(async () => {
    const photo = await sharp({ create: { width: 640, height: 640, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer();
    anna = { id: 'anna', photo };
    service = await TestService.start({
      ldif: buildLdif([anna, { id: 'ben' }]),
      environment: { URL_SIGNING_KEYS: KEY.toString('hex') },
    });
    authorization = await service.serviceAccount('read');
  });

  afterAll(() => service.stop());

  async function urlOf(id: string, args = ''): Promise<string | null> {
    const query = `query ($id: String!) { user(user: {id: $id}) { photo${args} } }`;
    const { data } = await service.query<{ user: { photo: string | null } }>(query, {
      authorization,
      variables: { id },
    });
    return data?.user.photo ?? null;
  }

  async function signedUrl(args = ''): Promise<string> {
    const url = await urlOf('anna', args);
    if (url === null) throw new Error('Anna has a photo');
    return url;
  }

  async function refusal(url: string): Promise<unknown> {
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    return response.json();
  }

  it('is available by its URL alone, and cached until the URL expires', async () => {
    const url = await signedUrl();
    expect(url).toMatch(
      new RegExp(`^${service.config.baseUrl}/photo/v1/anna\\?expires=\\d{10}&signature=[0-9a-f]{64}$`),
    );
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/jpeg');
    const maxAge = Number(/^private, max-age=(\d+)$/.exec(response.headers.get('cache-control') ?? '')?.[1]);
    expect(maxAge).toBeGreaterThan(3590);
    expect(maxAge).toBeLessThanOrEqual(4500);
    const { format, width } = await sharp(await response.arrayBuffer()).metadata();
    expect([format, width]).toEqual(['jpeg', 640]);
  });

  it.each([
    ['image/webp', 'image/webp'],
    ['image/avif', 'image/avif'],
    ['image/webp;q=0.5, image/*;q=0.1', 'image/webp'],
    ['*/*', 'image/jpeg'],
  ])('is in the format that Accept prefers: %s', async (accept, type) => {
    const response = await fetch(await signedUrl('(size: 64)'), { headers: { accept } });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
    expect(response.headers.get('vary')).toContain('Accept');
    expect((await sharp(await response.arrayBuffer()).metadata()).width).toBe(64);
  });

  it('is not sent again for a matching ETag or a HEAD request', async () => {
    const url = await signedUrl();
    const head = await fetch(url, { method: 'HEAD' });
    const etag = head.headers.get('etag') ?? '';
    expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100);
    const again = await fetch(url, { headers: { 'if-none-match': etag } });
    expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
  });

  it('is rejected if its URL has expired', async () => {
    const signedAgo = (seconds: number) =>
      signUrl({
        baseUrl: service.config.baseUrl,
        kind: 'photo',
        id: 'anna',
        size: null,
        now: new Date(Date.now() - seconds * 1000),
        key: KEY,
      });
    expect((await fetch(signedAgo(3500))).status).toBe(200);
    expect(await refusal(signedAgo(4600))).toMatchObject({ status: 403, code: 'URL_EXPIRED' });
  });

  it('is null for a user without one, and 404 after it was removed', async () => {
    expect(await urlOf('ben')).toBeNull();
    const url = await signedUrl();
    service.replaceDirectory(buildLdif([{ id: 'anna' }, { id: 'ben' }]));
    await service.until(async () => (await urlOf('anna')) === null);
    expect(await refusal(url)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    service.replaceDirectory(buildLdif([anna, { id: 'ben' }]));
    await service.until(async () => (await urlOf('anna')) !== null);
    expect((await fetch(url)).status).toBe(200);
  });
});
