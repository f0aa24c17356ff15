import { KeySeal } from './cursor.js';

const BINDING = 'abcdefghijk';
const seal = new KeySeal(Buffer.alloc(16, 7));

describe('a sealed number', () => {
  it('is opened with the same key and binding', () => {
    const numbers = [0, 1, 2, -3, 2 ** 31, 1_763_683_200_000_017, Number.MAX_SAFE_INTEGER];
    for (const parent of [0, 1, 2 ** 31 - 1])
      expect(seal.seal(numbers, BINDING, parent).map((each) => seal.open(each, BINDING))).toEqual(
        numbers.map((number) => [number, parent]),
      );
    expect(seal.seal([], BINDING)).toEqual([]);
  });

  it('is the same in every process that has the key, with as many others as there are', () => {
    const other = new KeySeal(Buffer.alloc(16, 7));
    expect(other.seal([5, 6], BINDING)).toEqual([...seal.seal([5], BINDING), ...seal.seal([6], BINDING)]);
  });

  it('is not opened with another key or binding, and not after any change', () => {
    const [sealed = ''] = seal.seal([17], BINDING);
    expect(new KeySeal(Buffer.alloc(16, 8)).open(sealed, BINDING)).toBeNull();
    expect(seal.open(sealed, 'abcdeAghijk')).toBeNull();
    for (let index = 0; index < sealed.length; index++) {
      const changed = sealed.slice(0, index) + (sealed[index] === 'A' ? 'B' : 'A') + sealed.slice(index + 1);
      // The last character has two bits; the others of it are not part of the text.
      if (Buffer.from(changed, 'base64url').equals(Buffer.from(sealed, 'base64url'))) continue;
      expect(seal.open(changed, BINDING)).toBeNull();
    }
    for (const odd of ['', 'A', `${sealed}A`, ` ${sealed}`, 'é'.repeat(22)])
      expect(seal.open(odd, BINDING)).toBeNull();
  });

  it('does not disclose how far two numbers are apart', () => {
    const sealed = seal.seal(
      Array.from({ length: 1000 }, (_, index) => index),
      BINDING,
    );
    expect(new Set(sealed).size).toBe(1000);
    // No byte of a block is the same for most neighbors, as a counter would be.
    const blocks = sealed.map((each) => Buffer.from(each, 'base64url'));
    for (let byte = 0; byte < 16; byte++) {
      const same = blocks.filter((block, index) => index > 0 && block[byte] === blocks[index - 1]?.[byte]);
      expect(same.length).toBeLessThan(50);
    }
  });
});
