import { GrantedCounts } from './granted-counts.js';
import { Limit, type LimitResult } from './limits.js';
import { WorkerCounts } from './worker-counts.js';

/** Workers that share a count, as in one process. */
function createWorkers(count: number, clock: () => number = () => 0) {
  let asked = 0;
  const workers: WorkerCounts[] = [];
  // A message: replies that were sent before arrive before.
  const reclaim = async (name: string, subject: string) => {
    await new Promise((resolve) => setImmediate(resolve));
    return workers.reduce((sum, worker) => sum + worker.giveBack(name, subject), 0);
  };
  const counts = new GrantedCounts(count, reclaim, clock);
  for (let index = 0; index < count; index++) {
    workers.push(
      new WorkerCounts((request) => {
        asked++;
        return counts.take(request);
      }, clock),
    );
  }
  const take = async (index: number, limit: Limit, amount = 1): Promise<LimitResult | undefined> => {
    const results = await workers[index % count]?.take([{ limit, subject: 'anna', amount }]);
    return results?.[0];
  };
  /** Another process takes the place of a worker. */
  const replace = (index: number) => {
    const unused = workers[index]?.giveBackAll() ?? [];
    counts.takeBack(unused);
  };
  return { take, replace, askedTimes: () => asked };
}

describe('counts of several workers', () => {
  it.each([1, 7, 10, 300, 5000])('accept exactly a limit of %d, in any distribution', async (amount) => {
    const { take } = createWorkers(3);
    const limit = new Limit('requests', amount, 60, () => 0);
    let taken = 0;
    for (let index = 0; index < amount + 20; index++) {
      // Most requests reach one worker.
      if ((await take(index % 5 === 0 ? 1 : index % 11 === 0 ? 2 : 0, limit))?.isTaken === true) taken++;
    }
    expect(taken).toBe(amount);
  });

  it('accept exactly a limit when requests are simultaneous', async () => {
    const { take } = createWorkers(3);
    const limit = new Limit('requests', 300, 60, () => 0);
    const results = await Promise.all(Array.from({ length: 400 }, (_, index) => take(index, limit)));
    expect(results.filter((result) => result?.isTaken)).toHaveLength(300);
  });

  it('ask for few of many requests', async () => {
    const { take, askedTimes } = createWorkers(2);
    const limit = new Limit('requests', 100_000, 60, () => 0);
    for (let index = 0; index < 50_000; index++) await take(index, limit);
    expect(askedTimes()).toBeLessThan(50);
  });

  it('start again with a new window', async () => {
    let now = 0;
    const { take } = createWorkers(2, () => now);
    const limit = new Limit('requests', 100, 60, () => now);
    for (let index = 0; index < 100; index++) await take(index, limit);
    expect((await take(0, limit))?.isTaken).toBe(false);
    now = 60_001;
    expect(await take(0, limit)).toMatchObject({ isTaken: true, taken: 1 });
  });

  it('continue with what a worker has learned from Redis', async () => {
    const { take } = createWorkers(2);
    const limits = [0, 1].map(() => new Limit('failed-logins', 10, 60, () => 0));
    const [first, second] = limits;
    if (first === undefined || second === undefined) throw new Error('There are two workers');
    first.note('anna', { isTaken: false, taken: 10, until: 30_000 });
    expect(await take(0, first)).toMatchObject({ isTaken: false, taken: 10, until: 30_000 });
    expect(await take(1, second)).toMatchObject({ isTaken: false, taken: 10, until: 30_000 });
  });

  it('lose nothing of a worker that is replaced', async () => {
    const { take, replace } = createWorkers(2);
    const limit = new Limit('requests', 1000, 60, () => 0);
    expect(await take(0, limit)).toMatchObject({ isTaken: true });
    replace(0);
    let taken = 1;
    while ((await take(1, limit))?.isTaken === true) taken++;
    expect(taken).toBe(1000);
  });
});
