import { DeferredRechecks } from './deferred-rechecks.js';

const of = (group: string) => ({ groups: new Set([group]), dns: new Set<string>() });

describe('deferred rechecks', () => {
  it('are none while nothing is expected', () => {
    const rechecks = new DeferredRechecks();
    expect(rechecks.millisecondsUntilDue(0)).toBe(Infinity);
    rechecks.expect({ groups: new Set(), dns: new Set() }, 0);
    expect(rechecks.millisecondsUntilDue(0)).toBe(Infinity);
    expect(rechecks.take(1_000_000)).toEqual({ groups: new Set(), dns: new Set() });
  });

  it('are repeated at increasing intervals, and then end', () => {
    const rechecks = new DeferredRechecks();
    rechecks.expect(of('club'), 0);
    const looks: number[] = [];
    for (let now = 0; rechecks.millisecondsUntilDue(now) < Infinity;) {
      now += rechecks.millisecondsUntilDue(now);
      expect(rechecks.take(now).groups).toEqual(new Set(['club']));
      looks.push(now);
    }
    expect(looks).toEqual([1_000, 5_000, 30_000, 120_000]);
  });

  it('of several changes run together when all are due', () => {
    const rechecks = new DeferredRechecks();
    rechecks.expect(of('club'), 0);
    rechecks.expect(of('team'), 10);
    expect(rechecks.take(500).groups).toEqual(new Set());
    expect(rechecks.take(1_005).groups).toEqual(new Set(['club']));
    expect(rechecks.millisecondsUntilDue(1_005)).toBe(5);
    expect(rechecks.take(5_010).groups).toEqual(new Set(['club', 'team']));
  });
});
