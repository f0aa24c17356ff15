import fc from 'fast-check';
import { parseStrictJson } from './request-body.js';

describe('parseUnequivocalJson', () => {
  it('reads whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.boolean(), (text, isSpaced) => {
        fc.pre(!/__proto__|constructor/.test(text));
        const value: unknown = JSON.parse(text);
        expect(parseStrictJson(isSpaced ? JSON.stringify(value, null, 2) : text)).toEqual(value);
      }),
      { seed: 1 },
    );
  });

  it.each([
    ['"a":1,"a":1'],
    ['"a":1,"\\u0061":1'],
    ['"":{},"":{}'],
    ['"a\\"":":","a\\"":":"'],
    ['"a\\\\":":","b":"\\\\","a\\\\":1'],
    ['"1":1,"0":1,"1":1'],
    ['"toString":1,"toString":1'],
  ])('refuses two members of one name, here and further inside: %s', (members) => {
    for (const text of [`{${members}}`, `[0,{"x":[{${members}}]}]`, ` { "x" : { ${members} } } `]) {
      expect(() => parseStrictJson(text)).toThrow(new SyntaxError('Two members have one name'));
    }
  });

  it('takes colons and quotes inside of strings for what they are', () => {
    for (const value of [
      { a: ':":' },
      { ':': '\\', b: '\\"' },
      [':', '{"a":1,"a":1}'],
      ':',
      { a: { a: 1 } },
    ]) {
      expect(parseStrictJson(JSON.stringify(value))).toEqual(value);
    }
  });

  it('nests as deep as there is room', () => {
    const depth = 50_000;
    expect(() => parseStrictJson(`${'{"a":['.repeat(depth)}${']}'.repeat(depth)}`)).not.toThrow();
  });
});
