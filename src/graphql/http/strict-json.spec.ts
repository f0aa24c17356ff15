import fc from 'fast-check';
import { parseStrictJson } from './request-reading.js';

describe('parseStrictJson', () => {
  it('parses any output of JSON.stringify', () => {
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
  ])('rejects duplicate keys at any depth: %s', (members) => {
    for (const text of [`{${members}}`, `[0,{"x":[{${members}}]}]`, ` { "x" : { ${members} } } `]) {
      expect(() => parseStrictJson(text)).toThrow(new SyntaxError('Two members have one name'));
    }
  });

  it('accepts colons and quotes in strings', () => {
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
});
