import { CacheAdmissionFilter } from './response-cache.js';

describe('the cache admission filter', () => {
  it('admits repeated keys, and rejects unique ones', () => {
    const doorkeeper = new CacheAdmissionFilter();
    const questions = Array.from(
      { length: 5000 },
      (_, index) => `{ group(group: {id: "${index}"}) { name } }`,
    );
    const first = questions.filter((question) => doorkeeper.admits(question));
    const again = questions.filter((question) => doorkeeper.admits(question));
    // Some entries overwrite each other.
    expect(first.length).toBeLessThan(questions.length / 100);
    expect(again.length).toBeGreaterThan(questions.length * 0.8);
    expect(doorkeeper.admits('')).toBe(false);
    expect(doorkeeper.admits('')).toBe(true);
  });
});
