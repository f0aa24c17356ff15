import { faultOfWebsite, hideUserInformation, parseHttpUrl, parseUrl } from './url.js';

describe('a URL', () => {
  it('is recognized repeatedly, with any letters', () => {
    for (let turn = 0; turn < 20_000; turn++) {
      if (parseHttpUrl('https://bücher.example/é') === null) throw new Error(`It is none at turn ${turn}`);
    }
    expect(parseUrl('ldap://host')?.hostname).toBe('host');
  });

  it.each(['', 'nonsense', '//host/path', 'https://'])('is not «%s»', (text) => {
    expect(parseUrl(text)).toBeNull();
  });

  it.each(['ldap://host', 'javascript:alert(1)'])('on the web is not «%s»', (text) => {
    expect(parseHttpUrl(text)).toBeNull();
  });
});

describe('user information', () => {
  it.each([
    ['postgres://a:b@host/x', 'postgres://(hidden)@host/x'],
    ['failed: https://a:b@host refused', 'failed: https://(hidden)@host refused'],
    ['http:a:b@host', 'http:(hidden)@host'],
    ['redis://:p@ss@host', 'redis://(hidden)@host'],
  ])('of %s is hidden', (text, hidden) => {
    expect(hideUserInformation(text)).toBe(hidden);
  });

  it.each(['https://host/path', 'someone@example.org', 'file:/srv/a@b.ldif', 'uid=a:b@c,dc=example'])(
    'is none in %s',
    (text) => {
      expect(hideUserInformation(text)).toBe(text);
    },
  );
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
