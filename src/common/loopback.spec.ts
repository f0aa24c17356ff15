import { isLoopback, readHost } from './url.js';

describe('a Host header field', () => {
  it.each([
    ['localhost', 'localhost'],
    ['LOCALHOST:3000', 'localhost'],
    ['127.0.0.1:3000', '127.0.0.1'],
    ['[::1]:3000', '::1'],
    ['club.localhost', 'club.localhost'],
    ['directory.example.org', 'directory.example.org'],
  ])('%s names %s', (field, host) => {
    expect(readHost(field)).toBe(host);
  });

  it.each([
    undefined,
    '',
    'user@127.0.0.1',
    '127.0.0.1/path',
    '127.0.0.1?',
    '127.0.0.1#',
    '127.0.0.1 evil.example',
    'a:b:c',
    '[::1',
    'x'.repeat(301),
  ])('%s has no host name', (field) => {
    expect(readHost(field)).toBeNull();
  });
});

describe('a loopback host', () => {
  it.each(['localhost', 'localhost.', 'club.localhost', '127.0.0.1', '127.1.2.3', '::1'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each(['localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', '0.0.0.0', '::', 'evil.example'])(
    'is not %s',
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );
});
