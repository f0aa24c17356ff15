import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import sharp, { type Sharp } from 'sharp';
import { inspectPicture } from './inspect-picture.js';
import { chooseFormat, etagOf, PictureRenderer, type Rendering } from './picture-renderer.js';

const SVG = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
);

function plain(width: number, height: number, background = '#3060c0'): Sharp {
  return sharp({ create: { width, height, channels: 3, background } });
}

function of(picture: Buffer, { size = null, format = 'jpeg' }: Partial<Rendering> = {}): Rendering {
  return { sha256: createHash('sha256').update(picture).digest(), size, format };
}

async function render(picture: Buffer, wanted: Partial<Rendering> = {}): Promise<Buffer> {
  const bytes = await new PictureRenderer().find(of(picture, wanted), () => Promise.resolve(picture));
  if (bytes === null) throw new Error('There is no picture');
  return bytes;
}

/** Returns the color of the pixel in the middle of a square that begins at `left`, `top`. */
async function colorAt(picture: Buffer, left: number, top: number): Promise<number[]> {
  const region = sharp(picture).extract({ left, top, width: 1, height: 1 }).removeAlpha();
  return [...(await region.raw().toBuffer())];
}

let warnings: jest.SpyInstance;
beforeEach(() => {
  warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  warnings.mockRestore();
});

describe('a rendering', () => {
  it('has no metadata of the picture', async () => {
    const picture = await plain(40, 20)
      .withExif({
        IFD0: { Copyright: 'A person', Make: 'A camera' },
        IFD3: { GPSLatitude: '47/1 22/1 0/1', GPSLongitude: '8/1 33/1 0/1' },
      })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"/>')
      .jpeg()
      .toBuffer();
    expect(picture.includes('A camera')).toBe(true);
    for (const format of ['jpeg', 'webp', 'avif'] as const) {
      const rendered = await render(picture, { format });
      const { exif, xmp, iptc, orientation } = await sharp(rendered).metadata();
      expect([exif, xmp, iptc, orientation]).toEqual([undefined, undefined, undefined, undefined]);
      expect(rendered.includes('Exif')).toBe(false);
      expect(rendered.includes('A camera')).toBe(false);
    }
  });

  it('has the orientation of EXIF', async () => {
    const red = await plain(20, 20, '#ff0000').png().toBuffer();
    const picture = await plain(40, 20)
      .composite([{ input: red, left: 0, top: 0 }])
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const rendered = await render(picture);
    expect(await sharp(rendered).metadata()).toMatchObject({ width: 20, height: 40 });
    const [top, bottom] = [await colorAt(rendered, 10, 5), await colorAt(rendered, 10, 35)];
    expect(top[0]).toBeGreaterThan(200);
    expect(bottom[2]).toBeGreaterThan(150);
  });

  it.each([
    [64, 800, 600, 64, 48],
    [128, 600, 800, 96, 128],
    [256, 1000, 1000, 256, 256],
    [512, 300, 200, 300, 200],
    [null, 300, 200, 300, 200],
    [null, 4096, 1024, 2048, 512],
  ] as const)(
    'in size %p of %d × %d is %d × %d',
    async (size, width, height, expectedWidth, expectedHeight) => {
      const rendered = await render(await plain(width, height).jpeg().toBuffer(), { size });
      expect(await sharp(rendered).metadata()).toMatchObject({
        format: 'jpeg',
        width: expectedWidth,
        height: expectedHeight,
      });
    },
  );

  it.each(['jpeg', 'png', 'gif', 'webp', 'avif'] as const)('is made of %s', async (format) => {
    const picture = await plain(20, 20).toFormat(format).toBuffer();
    expect(await inspectPicture(picture)).toEqual({ ok: true, format });
    expect(await sharp(await render(picture, { format: 'webp' })).metadata()).toMatchObject({
      format: 'webp',
      width: 20,
    });
    expect(await sharp(await render(picture, { format: 'avif' })).metadata()).toMatchObject({
      compression: 'av1',
      width: 20,
    });
  });
});

describe('an invalid picture', () => {
  const find = (renderer: PictureRenderer, picture: Buffer, size: Rendering['size'] = 64) =>
    renderer.find(of(picture, { size }), () => Promise.resolve(picture));

  it('is not rendered, and is logged once by its digest', async () => {
    const renderer = new PictureRenderer();
    const jpeg = await plain(200, 200).jpeg().toBuffer();
    const truncated = jpeg.subarray(0, Math.floor(jpeg.length / 2));
    expect(await find(renderer, truncated)).toBeNull();
    expect(await find(renderer, truncated)).toBeNull();
    expect(await find(renderer, truncated, 128)).toBeNull();
    expect(warnings).toHaveBeenCalledTimes(1);
    expect(warnings).toHaveBeenCalledWith(expect.stringContaining(of(truncated).sha256.toString('hex')));
    expect(await find(renderer, jpeg)).not.toBeNull();
  });

  it('is rejected for too many pixels, with any file size', async () => {
    const picture = await plain(6000, 5000).png({ compressionLevel: 9 }).toBuffer();
    expect(await find(new PictureRenderer(), picture)).toBeNull();
    expect(await inspectPicture(picture)).toEqual({
      ok: false,
      reason: 'has 6000 × 5000 pixels, more than 25000000',
    });
  });

  it.each([
    ['SVG', SVG],
    ['text', Buffer.from('no picture')],
    ['nothing', Buffer.alloc(0)],
    ['PDF', Buffer.from('%PDF-1.7\n')],
    ['TIFF', Buffer.from('II*\0')],
  ])('is rejected by its first bytes: %s', async (_name, picture) => {
    expect(await find(new PictureRenderer(), picture)).toBeNull();
    expect(await inspectPicture(picture)).toEqual({
      ok: false,
      reason: 'is not a picture in JPEG, PNG, GIF, WebP or AVIF',
    });
  });
});

describe('the renderer', () => {
  it('reads and renders once for concurrent requests', async () => {
    const picture = await plain(300, 300).jpeg().toBuffer();
    const renderer = new PictureRenderer();
    const load = jest.fn(() => Promise.resolve(picture));
    const [first, second] = await Promise.all([
      renderer.find(of(picture), load),
      renderer.find(of(picture), load),
    ]);
    expect(second).toBe(first);
    expect(await renderer.find(of(picture), load)).toBe(first);
    expect(load).toHaveBeenCalledTimes(1);
    await renderer.find(of(picture, { size: 64 }), load);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('renders one picture at a time, and rejects while too many wait', async () => {
    const renderer = new PictureRenderer();
    let loads = 0;
    let resolve: (picture: null) => void = () => undefined;
    const promise = new Promise<null>((done) => (resolve = done));
    const find = (name: string) =>
      renderer.find(of(Buffer.from(name)), () => {
        loads += 1;
        return promise;
      });
    const accepted = Array.from({ length: 2 + 256 }, (_, index) => find(String(index)));
    await expect(find('one more')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(loads).toBe(2);
    resolve(null);
    expect(new Set(await Promise.all(accepted))).toEqual(new Set([null]));
    expect(loads).toBe(accepted.length);
  });

  it('gives every rendering an entity tag of its own', async () => {
    const sha256 = Buffer.alloc(32);
    const tags = await Promise.all([
      etagOf({ sha256, size: null, format: 'jpeg' }),
      etagOf({ sha256, size: 64, format: 'jpeg' }),
      etagOf({ sha256, size: 64, format: 'webp' }),
      etagOf({ sha256: Buffer.alloc(32, 1), size: 64, format: 'webp' }),
    ]);
    expect(new Set(tags).size).toBe(4);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
  });
});

it.each([
  [undefined, 'jpeg'],
  ['', 'jpeg'],
  ['*/*', 'jpeg'],
  ['image/*', 'jpeg'],
  ['image/webp', 'webp'],
  ['image/avif', 'avif'],
  ['image/webp, image/avif', 'webp'],
  ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'avif'],
  ['image/webp,*/*;q=0.8', 'webp'],
  ['image/webp;q=0.8, image/jpeg', 'jpeg'],
  ['image/webp;q=0.8, */*', 'jpeg'],
  ['image/webp;q=0.8, image/jpeg;q=0.5, image/*', 'webp'],
  ['image/avif;q=0.5, image/webp;q=0.9, image/jpeg;q=0.1', 'webp'],
  ['image/webp;q=0, */*;q=0', 'jpeg'],
  ['image/avif ; q=0.001', 'avif'],
])('the format of a response is negotiated by Accept: %p gives %s', (accept, format) => {
  expect(chooseFormat(accept)).toBe(format);
});
