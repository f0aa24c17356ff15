import { BadUserInputError } from '../../common/errors.js';
import { signUrl, verifyUrl } from './signed-url.js';
import { SignedUrls } from './signed-urls.js';

const key = Buffer.alloc(32, 1);
const baseUrl = 'https://directory.example';
const ada = { key: 1, id: 'ada', photoLevel: 0, pictureLevel: null };

function urlsAt(time: { now: Date }): SignedUrls {
  return new SignedUrls(
    baseUrl,
    () => key,
    () => time.now.getTime(),
  );
}

describe('the returned URLs', () => {
  it('are null if there is no picture of the kind', () => {
    const urls = urlsAt({ now: new Date() });
    expect(urls.find('picture', ada, null)).toBeNull();
    expect(urls.find('photo', { ...ada, photoLevel: null }, 64)).toBeNull();
  });

  it('are the same for a quarter of an hour and then new', () => {
    const time = { now: new Date('2026-03-01T08:30:10Z') };
    const urls = urlsAt(time);
    const first = urls.find('photo', ada, null);
    expect(first).toBe(signUrl({ baseUrl, kind: 'photo', id: 'ada', size: null, now: time.now, key }));
    time.now = new Date('2026-03-01T08:44:59Z');
    expect(urls.find('photo', ada, null)).toBe(first);
    time.now = new Date('2026-03-01T08:45:01Z');
    expect(urls.find('photo', ada, null)).not.toBe(first);
    expect(urls.find('photo', ada, null)).toContain(`expires=${Date.parse('2026-03-01T10:00:00Z') / 1000}`);
  });

  it('are distinct by kind, size and user', () => {
    const urls = urlsAt({ now: new Date() });
    const person = { ...ada, pictureLevel: 0 };
    const all = [
      urls.find('photo', person, null),
      urls.find('photo', person, 64),
      urls.find('picture', person, null),
      urls.find('photo', { ...person, photoLevel: 1 }, null),
      urls.find('photo', { ...person, key: 2, id: '64 ada' }, null),
      urls.find('photo', { ...person, key: 3, id: 'Ada' }, null),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('have the current id of a user', () => {
    const urls = urlsAt({ now: new Date() });
    urls.find('photo', ada, null);
    expect(urls.find('photo', { ...ada, id: 'ada2' }, null)).toContain('/ada2?');
    expect(urls.find('photo', ada, null)).toContain('/ada?');
    expect(urls.statistics).toMatchObject({ entries: 1, hits: 0, misses: 3 });
  });

  it('stay correct above the capacity of the cache', () => {
    const now = new Date();
    const urls = urlsAt({ now });
    const find = (number: number) =>
      urls.find('photo', { ...ada, key: number, id: `p${number}` }, null) ?? '';
    for (let number = 0; number < 100_010; number += 1) find(number);
    for (const number of [0, 99_999, 100_000, 100_009]) {
      const verification = verifyUrl(find(number).slice(baseUrl.length), [key], now);
      expect(verification).toMatchObject({ outcome: 'valid', id: `p${number}` });
    }
  });

  it.each([
    [1, 64],
    [64, 64],
    [65, 128],
    [300, 512],
    [512, 512],
  ])('of the size %p have the next size, %p', (wanted, size) => {
    const urls = urlsAt({ now: new Date() });
    expect(urls.find('photo', ada, wanted)).toBe(urls.find('photo', ada, size));
    expect(urls.find('photo', ada, wanted)).toContain(`&size=${size}`);
  });

  it.each([0, -64, 513, 1024])('reject the size %p, also without a picture', (size) => {
    const urls = urlsAt({ now: new Date() });
    expect(() => urls.find('picture', ada, size)).toThrow(
      new BadUserInputError('The argument size must be from 1 to 512', 'size'),
    );
  });
});
