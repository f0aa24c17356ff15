import { LoadShedder } from './load-shedder.js';

/** Simulates operations that arrive and are answered, in steps of ten milliseconds. */
class Traffic {
  readonly shedder = new LoadShedder();
  underWay = 0;
  /** Number of operations that were rejected unread. */
  unread = 0;
  private now = 10_000;

  /** @returns number of operations that were accepted */
  come(count: number): number {
    let taken = 0;
    for (let index = 0; index < count; index++) {
      if (this.shedder.rejectsUnread(this.now)) this.unread++;
      else if (this.shedder.begin(this.now)) taken++;
    }
    this.underWay += taken;
    return taken;
  }

  answer(count: number): void {
    const answered = Math.min(count, this.underWay);
    for (let index = 0; index < answered; index++) this.shedder.end();
    this.underWay -= answered;
  }

  /** @returns number of operations that were accepted, and maximum number in progress */
  run({ seconds, coming, done }: { seconds: number; coming: number; done: number }) {
    let taken = 0;
    let most = 0;
    for (let step = 0; step < seconds * 100; step++) {
      taken += this.come(coming / 100);
      most = Math.max(most, this.underWay);
      this.answer(done / 100);
      this.now += 10;
    }
    return { taken, most };
  }
}

describe('the load shedder', () => {
  let traffic: Traffic;

  beforeEach(() => {
    traffic = new Traffic();
  });

  it('accepts a burst after a quiet time, of at most a thousand', () => {
    expect(traffic.come(1500)).toBe(1000);
    traffic.answer(1000);
    traffic.run({ seconds: 10, coming: 0, done: 0 });
    expect(traffic.come(1500)).toBe(1000);
  });

  it('accepts everything that the service can complete', () => {
    expect(traffic.run({ seconds: 5, coming: 6000, done: 6000 })).toEqual({ taken: 30_000, most: 60 });
    expect(traffic.run({ seconds: 5, coming: 20_000, done: 20_000 }).taken).toBe(100_000);
  });

  it('accepts as many as complete, and a queue of half a second, at ten times the capacity', () => {
    traffic.run({ seconds: 1, coming: 4000, done: 400 });
    const { taken, most } = traffic.run({ seconds: 10, coming: 4000, done: 400 });
    // Not fewer than the capacity: the process is never idle.
    expect(taken).toBeGreaterThan(3600);
    expect(taken).toBeLessThan(4400);
    expect(most).toBeLessThan(1000);
    expect(traffic.underWay).toBeGreaterThan(150);
    expect(traffic.underWay).toBeLessThan(250);
  });

  it('has most of a flood rejected unread, and nothing below the limit', () => {
    traffic.run({ seconds: 1, coming: 400, done: 400 });
    expect(traffic.unread).toBe(0);
    traffic.run({ seconds: 1, coming: 4000, done: 400 });
    traffic.unread = 0;
    const { taken } = traffic.run({ seconds: 10, coming: 4000, done: 400 });
    expect(taken).toBeGreaterThan(3600);
    expect(traffic.unread).toBeGreaterThan(30_000);
    traffic.answer(1000);
    traffic.run({ seconds: 1, coming: 100, done: 400 });
    traffic.unread = 0;
    expect(traffic.run({ seconds: 1, coming: 400, done: 400 }).taken).toBe(400);
    expect(traffic.unread).toBe(0);
  });

  it('has operations read while they are few, though none completes, because they may be cached', () => {
    traffic.run({ seconds: 1, coming: 1000, done: 1000 });
    traffic.run({ seconds: 5, coming: 400, done: 0 });
    expect(traffic.unread).toBe(0);
  });

  it('keeps 64 waiting while none completes, and accepts all again afterwards', () => {
    traffic.run({ seconds: 1, coming: 500, done: 0 });
    traffic.answer(1000);
    traffic.run({ seconds: 1, coming: 500, done: 0 });
    expect(traffic.underWay).toBeGreaterThanOrEqual(64);
    traffic.run({ seconds: 1, coming: 500, done: 1000 });
    expect(traffic.run({ seconds: 1, coming: 500, done: 1000 }).taken).toBe(500);
  });
});
