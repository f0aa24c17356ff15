import { compareVectors, timeOfCsn, vectorOf } from './csn-vector.js';
import { mergeCookies, parseSyncCookie } from './sync-cookie.js';

const ONE = '20260101000000.000001Z#000000#001#000000';
const ONE_LATER = '20260101000009.000000Z#000000#001#000000';
const TWO = '20260101000005.000000Z#000000#002#000000';
const ELEVEN = '20250101000005.000000Z#000000#00b#000000';

const merge = (known: string | null, received: string) =>
  mergeCookies(known === null ? null : Buffer.from(known), Buffer.from(received))?.toString() ?? null;

describe('a cookie of OpenLDAP', () => {
  it('contains the ID of its server, and the newest change of each server', () => {
    const parsed = parseSyncCookie(Buffer.from(`rid=007,sid=00b,csn=${ONE};${TWO},delcsn=${ELEVEN}`));
    expect(parsed?.serverId).toBe(11);
    expect([...(parsed?.csns ?? [])]).toEqual([
      [1, ONE],
      [2, TWO],
    ]);
    expect(parseSyncCookie(Buffer.from('rid=000'))).toMatchObject({ serverId: null });
  });

  it('in another format is not parsed', () => {
    for (const cookie of [
      'garbage',
      'ldap.example.org:389#cn=manager:dc=example#12',
      'rid=0,csn=x',
      'sid=xyz',
    ]) {
      expect(parseSyncCookie(Buffer.from(cookie))).toBeNull();
    }
  });

  it('is stored without the ID of its server', () => {
    expect(merge(null, `rid=000,sid=001,csn=${ONE}`)).toBe(`rid=000,csn=${ONE}`);
  });

  it('with one server keeps what is known of the others', () => {
    expect(merge(`rid=000,csn=${ONE};${TWO}`, `rid=000,sid=002,csn=${ONE_LATER}`)).toBe(
      `rid=000,csn=${ONE_LATER};${TWO}`,
    );
    expect(merge(`rid=000,csn=${ELEVEN}`, `rid=000,csn=${TWO};${ONE}`)).toBe(
      `rid=000,csn=${ONE};${TWO};${ELEVEN}`,
    );
  });

  it('with an older change, or none, changes nothing', () => {
    expect(merge(`rid=000,csn=${ONE_LATER}`, `rid=000,sid=001,csn=${ONE}`)).toBe(`rid=000,csn=${ONE_LATER}`);
    expect(merge(`rid=000,csn=${ONE}`, 'rid=000,sid=002')).toBe(`rid=000,csn=${ONE}`);
    expect(merge(null, 'rid=000,sid=002')).toBeNull();
  });

  it('in another format replaces the former one', () => {
    expect(merge(`rid=000,csn=${ONE}`, 'opaque')).toBe('opaque');
    expect(merge('opaque', `rid=000,csn=${ONE}`)).toBe(`rid=000,csn=${ONE}`);
  });
});

describe('the state of a server', () => {
  it('lags for each server ID whose newest known change it lacks', () => {
    const known = vectorOf([ONE_LATER, TWO, ELEVEN]);
    expect(compareVectors(known, vectorOf([ONE, TWO]))).toEqual({ behind: [1, 11], added: [] });
    expect(compareVectors(known, known)).toEqual({ behind: [], added: [] });
    expect(compareVectors(vectorOf([ONE]), vectorOf([ONE_LATER, TWO]))).toEqual({ behind: [], added: [2] });
  });

  it('has one CSN for each server ID, the newest', () => {
    expect([...vectorOf([ONE_LATER, ONE, 'no CSN'])]).toEqual([[1, ONE_LATER]]);
    expect([...vectorOf(['20080101000000Z#000000#00#000000'])]).toEqual([
      [0, '20080101000000Z#000000#00#000000'],
    ]);
  });

  it('has a time', () => {
    expect(timeOfCsn(ONE_LATER)).toBe('2026-01-01T00:00:09Z');
  });
});
