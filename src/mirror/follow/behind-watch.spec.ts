import { BehindWatch } from './behind-watch.js';

const MINUTES = 60_000;

describe('a server that lags', () => {
  let now = 0;
  const watch = () => new BehindWatch(5 * MINUTES, () => now);

  it('is compared and finally held, once for each of its states, and waited for in between', () => {
    const behind = watch();
    const steps: string[] = [];
    for (const [minutes, state, isHeld] of [
      [0, 'a', false],
      [1, 'a', false],
      [4, 'b', false],
      [4.4, 'c', false],
      [4.6, 'c', false],
      [5, 'b', false],
      [6, 'b', true],
      [7, 'c', true],
      [8, 'c', false],
    ] as const) {
      now = minutes * MINUTES;
      steps.push(behind.next(state, isHeld));
    }
    expect(steps).toEqual(['compare', 'wait', 'compare', 'wait', 'compare', 'hold', 'await', 'hold', 'hold']);
  });

  it('is waited for again after an up-to-date one', () => {
    const behind = watch();
    behind.next('a', false);
    now += 10 * MINUTES;
    behind.clear();
    expect(behind.next('a', false)).toBe('compare');
  });

  it('is waited for from its first reading', () => {
    const behind = watch();
    expect(behind.isOver).toBe(false);
    behind.begin();
    now += 5 * MINUTES - 1;
    behind.begin();
    expect(behind.isOver).toBe(false);
    now += 1;
    expect(behind.isOver).toBe(true);
    behind.clear();
    expect(behind.isOver).toBe(false);
  });

  it('is held immediately with a waiting time of zero', () => {
    expect(new BehindWatch(0).next('a', false)).toBe('hold');
  });
});
