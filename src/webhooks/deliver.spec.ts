import { secondsUntil } from './deliver.js';

const NOW = Date.parse('2026-09-01T12:00:00Z');

describe('the pause that a receiver asks for', () => {
  it.each([
    [undefined, null],
    ['120', 120],
    ['0', null],
    ['Tue, 01 Sep 2026 12:10:00 GMT', 600],
    ['Tue, 01 Sep 2026 11:59:00 GMT', null],
    ['soon', null],
    ['-5', null],
    ['', null],
  ])('is, for the header %p, %p seconds', (header, seconds) => {
    expect(secondsUntil(header, NOW)).toBe(seconds);
  });
});
