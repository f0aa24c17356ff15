import { faultOfWebsite, parseUrl } from './url.js';

describe('a URL', () => {
  it('is recognized repeatedly, with any letters', () => {
    for (let turn = 0; turn < 20_000; turn++) {
      if (parseUrl('https://bücher.example/é') === null) throw new Error(`It is none at turn ${turn}`);
    }
    expect(parseUrl('ldap://host')?.hostname).toBe('host');
  });

  it.each(['', 'nonsense', '//host/path', 'https://'])('is not «%s»', (text) => {
    expect(parseUrl(text)).toBeNull();
  });
});

describe('a web site', () => {
  it.each([
    'https://user@example.org/',
    'https://user:secret@example.org/',
    'http:user@example.org',
    'https://example.org/<script>',
    'https://example.org/"onclick="x',
    "https://example.org/'x",
    'https://example.org/`x',
    'https://example.org/a b',
    'https://example.org/a\tb',
    'https://example.org/a\u0000b',
    'https://example.org/a\u0085b',
    'https:\\\\example.org',
    'javascript:alert(1)',
    'ldap://host',
    'data:text/html,x',
  ])('is not %j', (text) => {
    expect(faultOfWebsite(text)).not.toBeNull();
  });

  it.each([
    'https://example.org/~club?a=b&c=d#e',
    'http://bücher.example/é',
    'https://[::1]/@name',
    'https://example.org/%3C',
  ])('is %s', (text) => {
    expect(faultOfWebsite(text)).toBeNull();
  });
});
