import { compressed } from './compression.js';

describe('a response that is compressed above 1,000 bytes', () => {
  it.each([
    ['x'.repeat(1000), false],
    ['x'.repeat(1001), true],
    // Two bytes each.
    ['я'.repeat(501), true],
    [Buffer.from('я'.repeat(501)), true],
  ])('is measured in bytes, also while it is text', async (body, isCompressed) => {
    const { headers } = await compressed({ headers: {}, body }, { coding: 'gzip', above: 1000 });
    expect('content-encoding' in headers).toBe(isCompressed);
  });
});
