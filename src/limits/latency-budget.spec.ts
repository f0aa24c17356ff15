/** @isolated The suite fakes the clock. */
import { LatencyBudget } from './redis-link.js';

/** Jest's clock, so that no load of the machine changes what the tests see. Turns of the event loop stay real. */
const passTime = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
const nextTurn = () => new Promise((resolve) => void setImmediate(resolve));

describe('a latency budget of 60 ms, of which 20 are fast', () => {
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

  /** Advances the clock as for an idle process: each timer is followed by a turn. */
  async function wait(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 5) {
      await nextTurn();
      await passTime(Math.min(5, milliseconds - passed));
    }
    await nextTurn();
  }

  it('expires without a response, and not earlier', async () => {
    budget.begin(giveUp);
    await wait(55);
    expect(giveUp).not.toHaveBeenCalled();
    await wait(10);
    expect(giveUp).toHaveBeenCalledTimes(1);
  });

  it('is not used up by many fast responses', async () => {
    for (let count = 0; count < 20; count++) {
      const noteAnswer = budget.begin(giveUp);
      await wait(10);
      noteAnswer();
    }
    await wait(100);
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('is used up by consecutive slow responses', async () => {
    let turns = 0;
    for (; turns < 10 && giveUp.mock.calls.length === 0; turns++) {
      const noteAnswer = budget.begin(giveUp);
      await wait(45);
      noteAnswer();
    }
    expect(giveUp).toHaveBeenCalledTimes(1);
    expect(turns).toBe(2);
  });

  it('is used up once by concurrent slow responses', async () => {
    const answers = Array.from({ length: 20 }, () => budget.begin(giveUp));
    await wait(30);
    for (const noteAnswer of answers) noteAnswer();
    // Twenty times as much would exceed the budget.
    const noteAnswer = budget.begin(giveUp);
    await wait(25);
    noteAnswer();
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('does not include the time in which this process is blocked', async () => {
    const noteAnswer = budget.begin(giveUp);
    // Before the request is written, and again while the response is available and not read yet.
    jest.advanceTimersByTime(150);
    await nextTurn();
    jest.advanceTimersByTime(150);
    noteAnswer();
    await wait(100);
    expect(giveUp).not.toHaveBeenCalled();
  });
});
