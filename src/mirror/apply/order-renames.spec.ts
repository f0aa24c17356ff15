import fc from 'fast-check';
import { orderRenames, type Rename } from './order-renames.js';

const rename = (from: string, to: string): Rename => ({ uuid: `was ${from}`, from, to });

describe('the order of renames', () => {
  it('releases an id before another entry gets it', () => {
    const [first, second, third] = [rename('a', 'b'), rename('b', 'c'), rename('c', 'd')];
    for (const given of [
      [first, second, third],
      [second, first, third],
      [third, first, second],
    ]) {
      expect(orderRenames(given)).toEqual([third, second, first]);
    }
  });

  it('contains each change exactly once, also with cycles and other spellings', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `id${index}`);
    const targets = fc.shuffledSubarray([...ids, 'new1', 'new2', 'new3'], { minLength: 12 });
    fc.assert(
      fc.property(targets, fc.integer({ min: 0, max: 12 }), (to, count) => {
        const renames = ids.slice(0, count).map((from, index) => rename(from, to[index] ?? from));
        const ordered = orderRenames(renames);
        expect(new Set(ordered)).toEqual(new Set(renames));
        expect(ordered).toHaveLength(renames.length);
      }),
    );
  });

  it('supports any number of dependent renames', () => {
    const chain = Array.from({ length: 100_000 }, (_, index) => rename(`id${index}`, `id${index + 1}`));
    expect(orderRenames(chain)).toEqual([...chain].reverse());
  });
});
