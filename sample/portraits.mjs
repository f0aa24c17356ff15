// @ts-check
/**
 * Draws the portraits (jpegPhoto) of directory.ldif again, and changes nothing else. An entry gets one by the line `jpegPhoto:`.
 *
 *     node sample/portraits.mjs
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createAvatar } from '@dicebear/core';
import * as lorelei from '@dicebear/lorelei';
import sharp from 'sharp';

const FILE = new URL('directory.ldif', import.meta.url);
const LINE_WIDTH = 76;
const PORTRAIT = /^jpegPhoto:.*\n(?: .*\n)*/m;

/** @type {import('@dicebear/core').StyleOptions<lorelei.Options>} */
const LOOKS = {
  size: 256,
  skinColor: ['fbe4d5', 'f6d7c3', 'eebd99', 'd49a6a', 'a86b42', '7a4a2b'],
  hairColor: ['1c1c22', '2b1d16', '4a2f1f', '7a4b2a', '8a3b1e', 'b5793c', 'd9b26a'],
  backgroundColor: ['d7e6f5', 'e3efd9', 'f8e4cf', 'efdff0', 'fdf0c8', 'd5eeec'],
  mouth: ['happy01', 'happy02', 'happy03', 'happy04', 'happy05', 'happy06'],
  beardProbability: 0,
  glassesProbability: 15,
  hairAccessoriesProbability: 5,
  frecklesProbability: 10,
};

/**
 * The same id has the same portrait with the same version of sharp: another JPEG encoder can write other bytes.
 * @param {string} entry
 */
async function drawPortrait(entry) {
  const [, uid] = /^uid: (.+)$/m.exec(entry) ?? [];
  if (uid === undefined || !PORTRAIT.test(entry)) return entry;
  const svg = createAvatar(lorelei, { ...LOOKS, seed: uid }).toString();
  const jpeg = sharp(Buffer.from(svg)).jpeg({ quality: 66, chromaSubsampling: '4:2:0', mozjpeg: true });
  const line = `jpegPhoto:: ${(await jpeg.toBuffer()).toString('base64')}`;
  // A line that continues begins with a space (RFC 2849).
  const rest = line.slice(LINE_WIDTH).match(new RegExp(`.{1,${LINE_WIDTH - 1}}`, 'g')) ?? [];
  return entry.replace(PORTRAIT, `${[line.slice(0, LINE_WIDTH), ...rest].join('\n ')}\n`);
}

const entries = readFileSync(FILE, 'utf8').split(/(?<=\n)\n/);
writeFileSync(FILE, (await Promise.all(entries.map(drawPortrait))).join('\n'));
