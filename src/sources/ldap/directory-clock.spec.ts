import { sinceAfter } from './directory-clock.js';

const at = (since: string, latest: string) => ({ since, latest });

describe('the start of the next poll', () => {
  it('is the latest change of the poll before, because the last one may have missed older ones', () => {
    expect(sinceAfter(at('20261121105000Z', '20261121105044Z'), '20261121105055Z', true)).toBe(
      '20261121105044Z',
    );
  });

  it.each([
    ['20261121105044Z', '20261121105045Z'],
    ['20261231235959Z', '20270101000000Z'],
    ['20280228235959.0Z', '20280229000000.0Z'],
    ['2026-12-31T23:59:59Z', '2027-01-01T00:00:00Z'],
    ['2026-11-21T10:50:44+00:00', '2026-11-21T10:50:45+00:00'],
  ])('is after the latest change if its second is over: %s', (latest, after) => {
    expect(sinceAfter(at('2026', latest), latest, true)).toBe(after);
    expect(sinceAfter(at('2026', latest), latest, false)).toBe(latest);
  });

  it('never goes back', () => {
    expect(sinceAfter(at('20261121105045Z', '20261121105044Z'), '20261121105044Z', false)).toBe(
      '20261121105045Z',
    );
  });

  it.each([
    '20261121105044.25Z',
    '20261121105044+0100',
    '202611211050Z',
    '20269999105044Z',
    '2026-11-21T10:50:44.25Z',
  ])('is the latest change if its second may not be over: %s', (latest) => {
    expect(sinceAfter(at('2026', latest), latest, true)).toBe(latest);
  });
});
