import { matchesEtag } from '../../http/entity-tags.js';
import { chooseFormat } from './rendering-format.js';

describe('the format of a response', () => {
  it.each([
    [undefined, 'jpeg'],
    ['', 'jpeg'],
    ['*/*', 'jpeg'],
    ['image/*', 'jpeg'],
    ['image/jpeg', 'jpeg'],
    ['image/png', 'jpeg'],
    ['application/json', 'jpeg'],
    ['image/webp', 'webp'],
    ['IMAGE/WEBP', 'webp'],
    ['image/avif', 'avif'],
    ['image/webp, image/avif', 'avif'],
    ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'avif'],
    ['image/webp,*/*;q=0.8', 'webp'],
    ['image/webp, */*', 'webp'],
    ['image/webp;q=0.8, image/jpeg', 'jpeg'],
    ['image/webp;q=0.8, */*', 'jpeg'],
    ['image/webp;q=0.8, image/jpeg;q=0.5, image/*', 'webp'],
    ['image/avif;q=0.5, image/webp;q=0.9, image/jpeg;q=0.1', 'webp'],
    ['image/webp;q=0', 'jpeg'],
    ['image/webp;q=0, */*;q=0', 'jpeg'],
    ['image/avif ; q=0.001', 'avif'],
    ['image/avif;q=2', 'jpeg'],
    ['image/avif;q=x, image/webp', 'webp'],
  ])('is negotiated by Accept: %p gives %s', (accept, format) => {
    expect(chooseFormat(accept)).toBe(format);
  });
});

describe('If-None-Match', () => {
  it.each(['"abc"', 'W/"abc"', '"x", "abc"', '"x,y" , W/"abc"', ', ,"abc",', '"\xe9" ,\t"abc"', '*', ' * '])(
    'covers the tag: %p',
    (header) => {
      expect(matchesEtag(header, '"abc"')).toBe(true);
    },
  );

  it.each([
    ...[undefined, '', 'abc', '"ab"', '"abcd"', '"*"', '"ABC"'],
    // They do not follow the grammar.
    ...[
      'W/W/"abc"',
      'w/"abc"',
      'W/ "abc"',
      'W/"abc"x',
      '"abc" "x"',
      '"abc',
      '""abc"',
      '*, "abc"',
      '"abc", *',
    ],
    ...['"abc", "x y"', '"abc", "\x7f"', '"abc", x'],
  ])('does not cover the tag: %p', (header) => {
    expect(matchesEtag(header, '"abc"')).toBe(false);
  });
});
