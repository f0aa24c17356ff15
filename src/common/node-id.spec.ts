import { nodeIdOf, parseNodeId } from './identity.js';

const UUID = '8b1f7a52-5b0c-4d7e-9c39-0f6b1a2c3d4e';
const encode = (text: string, encoding: 'base64' | 'base64url' = 'base64url') =>
  Buffer.from(text).toString(encoding);

describe('parseNodeId', () => {
  it.each(['User', 'Group', 'Profile'] as const)('reads the result of nodeIdOf for a %s', (type) => {
    expect(parseNodeId(nodeIdOf(type, UUID))).toEqual({ type, entryUuid: UUID });
  });

  const known = nodeIdOf('User', UUID);
  // The last character of 41 bytes has two unused bits.
  const last = known.at(-1) ?? '';
  const twin = `${known.slice(0, -1)}${String.fromCharCode(last.charCodeAt(0) + 1)}`;
  it.each([
    ['', 'an empty text'],
    [UUID, 'an entryUUID'],
    [`User:${UUID}`, 'the text before it is encoded'],
    [twin, 'unused bits that are not zero'],
    [`${known}=`, 'padding'],
    [`${known}\0`, 'a NUL'],
    [`${known}\n`, 'a line feed'],
    [` ${known}`, 'a space'],
    [known.repeat(200), 'ten thousand characters'],
    [encode(`User:${UUID}\n`), 'an encoded line feed'],
    [encode(`User:${UUID.toUpperCase()}`), 'capital letters'],
    [encode(`User:${UUID.replaceAll('-', '')}`), 'an entryUUID without hyphens'],
    [encode(`user:${UUID}`), 'another spelling of a type'],
    [encode(`Change:${UUID}`), 'another type'],
    [encode(`User:${UUID}`, 'base64').replace('U', 'Ｕ'), 'a wide letter'],
  ])('rejects %j: %s', (text) => {
    expect(parseNodeId(text)).toBeNull();
  });

  it('rejects a text that decodes to the same bytes', () => {
    expect(Buffer.from(twin, 'base64url')).toEqual(Buffer.from(known, 'base64url'));
    expect(twin).not.toBe(known);
  });
});
