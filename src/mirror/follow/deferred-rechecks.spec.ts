import { Aftermath } from './deferred-rechecks.js';

const of = (group: string) => ({ groups: new Set([group]), dns: new Set<string>() });

describe('what changes may still entail', () => {
  it('is nothing as long as nothing is expected', () => {
    const aftermath = new Aftermath();
    expect(aftermath.patience(0)).toBe(Infinity);
    aftermath.expect({ groups: new Set(), dns: new Set() }, 0);
    expect(aftermath.patience(0)).toBe(Infinity);
    expect(aftermath.take(1_000_000)).toEqual({ groups: new Set(), dns: new Set() });
  });

  it('is looked at again and again, at longer and longer intervals, and then no more', () => {
    const aftermath = new Aftermath();
    aftermath.expect(of('club'), 0);
    const looks: number[] = [];
    for (let now = 0; aftermath.patience(now) < Infinity;) {
      now += aftermath.patience(now);
      expect(aftermath.take(now).groups).toEqual(new Set(['club']));
      looks.push(now);
    }
    expect(looks).toEqual([1_000, 5_000, 30_000, 120_000]);
  });

  it('of several changes is looked at together when it is time for all of them', () => {
    const aftermath = new Aftermath();
    aftermath.expect(of('club'), 0);
    aftermath.expect(of('team'), 10);
    expect(aftermath.take(500).groups).toEqual(new Set());
    expect(aftermath.take(1_005).groups).toEqual(new Set(['club']));
    expect(aftermath.patience(1_005)).toBe(5);
    expect(aftermath.take(5_010).groups).toEqual(new Set(['club', 'team']));
  });
});
