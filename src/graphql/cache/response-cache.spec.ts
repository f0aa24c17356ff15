import { CacheAdmissionFilter } from './response-cache.js';

describe('the cache admission filter', () => {
  it('admits repeated keys, and rejects unique ones', () => {
    const filter = new CacheAdmissionFilter();
    const keys = Array.from({ length: 5000 }, (_, index) => `{ group(group: {id: "${index}"}) { name } }`);
    const first = keys.filter((key) => filter.admits(key));
    const again = keys.filter((key) => filter.admits(key));
    // Some entries overwrite each other.
    expect(first.length).toBeLessThan(keys.length / 100);
    expect(again.length).toBeGreaterThan(keys.length * 0.8);
    expect(filter.admits('')).toBe(false);
    expect(filter.admits('')).toBe(true);
  });
});
