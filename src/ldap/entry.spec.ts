import { Entry } from './entry.js';

const bytes = (...values: string[]) => values.map((value) => Buffer.from(value));

describe('an entry', () => {
  it('finds an attribute in any case', () => {
    const entry = new Entry('uid=ann', [['givenName', bytes('Ann', 'Anna')]]);
    expect(entry.text('GIVENNAME')).toEqual(['Ann', 'Anna']);
    expect(entry.bytes('givenname')).toEqual(bytes('Ann', 'Anna'));
  });

  it('distinguishes attributes with options, regardless of their case and order', () => {
    const entry = new Entry('uid=ann', [
      ['cn', bytes('Ann')],
      ['cn;lang-fr', bytes('Anne')],
      ['cn;x-b;Lang-EN', bytes('Annie')],
    ]);
    expect(entry.text('cn')).toEqual(['Ann']);
    expect(entry.text('CN;Lang-fr')).toEqual(['Anne']);
    expect(entry.text('cn;lang-en;x-b')).toEqual(['Annie']);
  });

  it('takes ;binary for the attribute itself', () => {
    const entry = new Entry('uid=ann', [['jpegPhoto;binary', bytes('x')]]);
    expect(entry.bytes('jpegPhoto')).toEqual(bytes('x'));
    expect(entry.bytes('jpegphoto;BINARY')).toEqual(bytes('x'));
  });

  it('joins the values of one attribute that comes in several spellings', () => {
    const entry = new Entry('uid=ann', [
      ['mail', bytes('a')],
      ['MAIL', bytes('b')],
    ]);
    expect(entry.text('mail')).toEqual(['a', 'b']);
  });

  it('replaces invalid UTF-8 in text, and keeps the bytes', () => {
    const entry = new Entry('uid=ann', [['sn', [Buffer.from('ok'), Buffer.from([0xc3])]]]);
    expect(entry.text('sn')).toEqual(['ok', '\ufffd']);
    expect(entry.bytes('sn')).toHaveLength(2);
  });

  it('keeps a byte order mark in a value', () => {
    expect(new Entry('', [['cn', bytes('\ufeffa')]]).text('cn')).toEqual(['\ufeffa']);
  });
});
