import { SignedUrlPlaces } from './signed-url-places.js';
import { verifyUrl } from './signed-url.js';
import { SignedUrls } from './signed-urls.js';

const key = Buffer.alloc(32, 1);
const baseUrl = 'https://directory.example/ä';
const ada = { key: 1, id: 'ada & "é', photoLevel: 0, pictureLevel: 0 };
/** He is hidden from some viewers. */
const ben = { key: 2, id: 'ben', photoLevel: 1, pictureLevel: 1 };

describe('signed URLs in a body', () => {
  let now: number;
  let urls: SignedUrls;
  let places: SignedUrlPlaces;

  beforeEach(() => {
    now = Date.parse('2026-03-01T08:30:10Z');
    urls = new SignedUrls(baseUrl, key, () => now);
    places = new SignedUrlPlaces(urls);
  });

  const bodyOf = (...more: unknown[]) =>
    JSON.stringify({
      name: 'ä ?expires=1 é',
      a: urls.find('photo', ada, 64),
      nested: [{ b: urls.find('picture', ben, null) }, urls.find('photo', ada, null)],
      more,
    });

  it('are signed again in place, and everything else stays', () => {
    const body = Buffer.from(bodyOf());
    const original = body.toString();
    const found = places.locate(body, [ada, ben, ada]);
    expect(found).toHaveLength(3);
    now += 900_000;
    const renewed = places.renew(body, found as never);
    expect(renewed.toString()).toBe(bodyOf());
    expect(renewed.toString()).not.toBe(original);
    // It may still be in transit.
    expect(body.toString()).toBe(original);
    const { a } = JSON.parse(renewed.toString()) as { a: string };
    const target = a.slice(baseUrl.length);
    expect(verifyUrl(target, [key], new Date(now + 3_600_000 - 1))).toMatchObject({
      outcome: 'valid',
      id: ada.id,
    });
  });

  it('are distinguished from texts that look like them', () => {
    const old = urls.find('photo', ben, null) ?? '';
    now += 900_000;
    const other = `${baseUrl}/photo/v1/ben?expires=1763683200&signature=${'0'.repeat(64)}`;
    const body = Buffer.from(bodyOf(old, other, `${other}&size=77`, `${baseUrl}/photo/v1/%ff?expires=1`));
    const found = places.locate(body, [ada, ben, ada]);
    now += 900_000;
    expect(places.renew(body, found as never).toString()).toBe(
      bodyOf(old, other, `${other}&size=77`, `${baseUrl}/photo/v1/%ff?expires=1`),
    );
  });

  it('are not known if a text equals one of them, or one is missing', () => {
    expect(places.locate(Buffer.from(bodyOf(urls.find('photo', ada, 64))), [ada, ben, ada])).toBeNull();
    expect(places.locate(Buffer.from(bodyOf()), [ada, ben, ada, ben])).toBeNull();
    expect(places.locate(Buffer.from('{}'), [])).toEqual([]);
  });
});
