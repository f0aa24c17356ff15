import { matchesEtag } from './headers.js';

describe('If-None-Match', () => {
  it.each(['"abc"', 'W/"abc"', '"x", "abc"', '"x,y" , W/"abc"', ', ,"abc",', '"\xe9" ,\t"abc"', '*', ' * '])(
    'covers the tag: %p',
    (header) => {
      expect(matchesEtag(header, '"abc"')).toBe(true);
    },
  );

  it.each([undefined, '', 'abc', '"ab"', '"abcd"', '"*"', '"ABC"', '"abc', '""abc"'])(
    'does not cover the tag: %p',
    (header) => {
      expect(matchesEtag(header, '"abc"')).toBe(false);
    },
  );
});
