import type { FieldReader } from '../../common/field.js';
import { Misfit, parseValue } from './entry-reader.js';

function parse(reader: FieldReader, text: string) {
  const value = parseValue({ reader }, text);
  return value instanceof Misfit ? `(${value.reason})` : value;
}

describe('a value of a field', () => {
  it.each<[FieldReader, string, unknown]>([
    ['line', 'any text', 'any text'],
    ['integer', '0', 0],
    ['integer', '2147483647', 2147483647],
    ['integer', '2147483648', '(has more than 32 bits)'],
    ['integer', '9'.repeat(400), '(has more than 32 bits)'],
    ['integer', '1.5', '(is not a whole number)'],
    ['number', '1.5', 1.5],
    ['number', '-.5e2', -50],
    ['number', '1e999', '(is not a finite number)'],
    ['number', 'NaN', '(is not a finite number)'],
    ['boolean', 'TRUE', true],
    ['boolean', 'FALSE', false],
    ['boolean', 'true', '(is neither TRUE nor FALSE)'],
    ['url', 'https://example.org/é Home', 'https://example.org/%C3%A9'],
    ['url', 'sip:ada@example.org', 'sip:ada@example.org'],
    ['url', '/photo', '(is not an absolute URL)'],
    ['url', 'JavaScript:alert(1)', '(is a URL that a page would run)'],
    ['url', 'java\tscript:alert(1)', '(is a URL that a page would run)'],
    ['url', 'data:text/html,hello', '(is a URL that a page would run)'],
  ])('read as %s: %s', (reader, text, value) => {
    expect(parse(reader, text)).toBe(value);
  });

  it.each([
    ['20240229080910Z', '2024-02-29T08:09:10.000Z'],
    ['20240229080910.5Z', '2024-02-29T08:09:10.500Z'],
    ['20240229080910,123456Z', '2024-02-29T08:09:10.123Z'],
    ['202402290809.5Z', '2024-02-29T08:09:30.000Z'],
    ['2024022908.25Z', '2024-02-29T08:15:00.000Z'],
    ['20240229080910+0130', '2024-02-29T06:39:10.000Z'],
    ['20161231235960Z', '2017-01-01T00:00:00.000Z'],
    ['00010101000000Z', '0001-01-01T00:00:00.000Z'],
    ['133536677501230000', '2024-02-29T08:09:10.123Z'],
    ['0', null],
    ['9223372036854775807', null],
    ['9223372036854775806', '(is not in the years 1 to 9999)'],
    ['00000101000000Z', '(is not in the years 1 to 9999)'],
    ['99991231235959-0100', '(is not in the years 1 to 9999)'],
    ['20230229000000Z', '(is not Generalized Time)'],
    ['20241301000000Z', '(is not Generalized Time)'],
    ['20240229080910', '(is not Generalized Time)'],
    ['2024-02-29T08:09:10Z', '(is not Generalized Time)'],
    ['tomorrow', '(is not Generalized Time)'],
  ])('read as an instant: %s', (text, value) => {
    expect(parse('time', text)).toBe(value);
  });

  it('never shows the value in the reason', () => {
    for (const reader of ['integer', 'number', 'boolean', 'url', 'website', 'time'] as const)
      expect(parse(reader, 'secret 42')).not.toContain('secret');
  });
});
