/** @isolated It fakes the clock. */
import { LatencyBudget } from './redis-link.js';

/** Jest's clock, so that no load of the machine changes what the tests see. Turns of the event loop stay real. */
const passTime = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
const nextTurn = () => new Promise((resolve) => void setImmediate(resolve));

describe('a latency budget of 60 ms, of which 20 are quick', () => {
  const giveUp = jest.fn();
  let budget: LatencyBudget;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] });
    giveUp.mockClear();
    budget = new LatencyBudget(20, 60);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  /** Lets time pass as it does for a process that is idle: each timer is followed by a turn. */
  async function wait(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 5) {
      await nextTurn();
      await passTime(Math.min(5, milliseconds - passed));
    }
    await nextTurn();
  }

  it('ends when no answer comes, and not before', async () => {
    budget.begin(giveUp);
    await wait(55);
    expect(giveUp).not.toHaveBeenCalled();
    await wait(10);
    expect(giveUp).toHaveBeenCalledTimes(1);
  });

  it('is not lost on many quick answers', async () => {
    for (let count = 0; count < 20; count++) {
      const noteAnswer = budget.begin(giveUp);
      await wait(10);
      noteAnswer();
    }
    await wait(100);
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('is used up by slow answers that follow one another', async () => {
    let turns = 0;
    for (; turns < 10 && giveUp.mock.calls.length === 0; turns++) {
      const noteAnswer = budget.begin(giveUp);
      await wait(45);
      noteAnswer();
    }
    expect(giveUp).toHaveBeenCalledTimes(1);
    expect(turns).toBe(2);
  });

  it('is used up once by answers that are slow together', async () => {
    const answers = Array.from({ length: 20 }, () => budget.begin(giveUp));
    await wait(30);
    for (const noteAnswer of answers) noteAnswer();
    // Twenty times as much would be more than there is.
    const noteAnswer = budget.begin(giveUp);
    await wait(25);
    noteAnswer();
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('does not count the time for which this process is busy itself', async () => {
    const noteAnswer = budget.begin(giveUp);
    // Before anything is written, and again while the answer is there and not read yet.
    jest.advanceTimersByTime(150);
    await nextTurn();
    jest.advanceTimersByTime(150);
    noteAnswer();
    await wait(100);
    expect(giveUp).not.toHaveBeenCalled();
  });
});
