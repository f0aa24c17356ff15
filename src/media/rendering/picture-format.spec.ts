import { chooseFormat } from './picture-renderer.js';

describe('the format of a response', () => {
  it.each([
    [undefined, 'jpeg'],
    ['', 'jpeg'],
    ['*/*', 'jpeg'],
    ['image/*', 'jpeg'],
    ['image/jpeg', 'jpeg'],
    ['image/png', 'jpeg'],
    ['application/json', 'jpeg'],
    ['image/webp', 'webp'],
    ['IMAGE/WEBP', 'webp'],
    ['image/avif', 'avif'],
    ['image/webp, image/avif', 'webp'],
    ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'avif'],
    ['image/webp,*/*;q=0.8', 'webp'],
    ['image/webp, */*', 'webp'],
    ['image/webp;q=0.8, image/jpeg', 'jpeg'],
    ['image/webp;q=0.8, */*', 'jpeg'],
    ['image/webp;q=0.8, image/jpeg;q=0.5, image/*', 'webp'],
    ['image/avif;q=0.5, image/webp;q=0.9, image/jpeg;q=0.1', 'webp'],
    ['image/webp;q=0', 'jpeg'],
    ['image/webp;q=0, */*;q=0', 'jpeg'],
    ['image/avif ; q=0.001', 'avif'],
  ])('is negotiated by Accept: %p gives %s', (accept, format) => {
    expect(chooseFormat(accept)).toBe(format);
  });
});
