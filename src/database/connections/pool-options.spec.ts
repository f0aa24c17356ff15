import { unencryptedPassword } from './pool-options.js';

const warningOf = (url: string, readUrl: string | null = null) =>
  unencryptedPassword({
    url,
    embedded: null,
    readUrl,
    poolSize: 1,
    previewPoolSize: 1,
    timeoutSeconds: 30,
  });

describe('a password to PostgreSQL', () => {
  it.each([
    'postgres://directory:secret@db.example.org/directory',
    'postgres://directory:secret@db.example.org/directory?sslmode=disable',
  ])('crosses the network unencrypted, which is a warning without it: %s', (url) => {
    const { hostname } = new URL(url);
    expect(warningOf(url)).toBe(
      `The password of PostgreSQL and all data cross the network to ${hostname} unencrypted: add ?sslmode=verify-full to the URL`,
    );
  });

  it('also crosses it to a reader endpoint', () => {
    const replica = 'postgres://directory:secret@replica.example.org/directory';
    const warning = warningOf('postgres:///directory?host=/run/postgresql&user=directory', replica);
    expect(warning).toMatch(/ to replica\.example\.org unencrypted/);
  });

  it.each([
    'postgres://directory:secret@db.example.org/directory?sslmode=verify-full',
    'postgres://directory:secret@127.0.0.1/directory',
    'postgres://directory:secret@[::1]/directory',
    'postgres://directory@db.example.org/directory',
    'postgres:///directory?host=/run/postgresql&user=directory&password=secret',
  ])('does not: %s', (url) => {
    expect(warningOf(url)).toBeNull();
  });
});
