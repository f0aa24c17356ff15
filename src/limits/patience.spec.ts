import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from './patience.js';

/** Keeps this process from doing anything else. */
function beBusy(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe('patience of 60 ms, of which 20 are quick', () => {
  const giveUp = jest.fn();
  let patience: Patience;

  beforeEach(() => {
    giveUp.mockClear();
    patience = new Patience(20, 60);
  });

  it('ends when no answer comes', async () => {
    const begun = performance.now();
    await new Promise<void>((resolve) => patience.begin(resolve));
    expect(performance.now() - begun).toBeGreaterThanOrEqual(59);
  });

  it('is not lost on many quick answers', async () => {
    for (let count = 0; count < 20; count++) {
      const noteAnswer = patience.begin(giveUp);
      await new Promise(setImmediate);
      noteAnswer();
    }
    await sleep(100);
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('is used up by slow answers that follow one another', async () => {
    let turns = 0;
    for (; turns < 10 && giveUp.mock.calls.length === 0; turns++) {
      const noteAnswer = patience.begin(giveUp);
      await sleep(45);
      noteAnswer();
    }
    expect(giveUp).toHaveBeenCalledTimes(1);
    expect(turns).toBeLessThanOrEqual(2);
  });

  it('is used up once by answers that are slow together', async () => {
    patience = new Patience(20, 2000);
    const answers = Array.from({ length: 20 }, () => patience.begin(giveUp));
    await sleep(110);
    for (const noteAnswer of answers) noteAnswer();
    // Twenty times as much would be more than there is.
    const noteAnswer = patience.begin(giveUp);
    await sleep(110);
    noteAnswer();
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('does not count the time for which this process is busy itself', async () => {
    const answered = new Promise<void>((resolve) => {
      const noteAnswer = patience.begin(giveUp);
      // Written and answered, but nobody is there to read it.
      setImmediate(() => {
        beBusy(150);
        setImmediate(() => {
          noteAnswer();
          resolve();
        });
      });
    });
    beBusy(150);
    await answered;
    await sleep(100);
    expect(giveUp).not.toHaveBeenCalled();
  });
});
