import { problem } from '../common/finding.js';
import { withFix } from './check.js';

describe('user information', () => {
  it.each([
    ['postgres://a:b@host/x', 'postgres://(hidden)@host/x'],
    ['failed: https://a:b@host refused', 'failed: https://(hidden)@host refused'],
    ['http:a:b@host', 'http:(hidden)@host'],
    ['redis://:p@ss@host', 'redis://(hidden)@host'],
  ])('of %s is hidden', (text, hidden) => {
    expect(withFix(problem('database', text)).text).toBe(hidden);
  });

  it.each(['https://host/path', 'someone@example.org', 'file:/srv/a@b.ldif', 'uid=a:b@c,dc=example'])(
    'is none in %s',
    (text) => {
      expect(withFix(problem('database', text)).text).toBe(text);
    },
  );
});
