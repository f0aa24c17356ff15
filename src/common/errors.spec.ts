import { bounded } from './errors.js';

it('keeps a message of usual length, and the beginning of one that repeats a large text', () => {
  const usual = 'Variable "$id" got invalid value';
  expect(bounded(usual)).toBe(usual);
  expect(bounded(`${'x'.repeat(999)}😀${'y'.repeat(90_000)}`)).toBe(`${'x'.repeat(999)}\uFFFD…`);
});
