// @ts-check
/**
 * Writes directory.ldif: an imaginary school. Every run writes the same bytes.
 *
 *     node sample/generate.mjs [FILE]
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { detailsOf, roomOf } from './details.mjs';
import { buildGroupEntry, buildPersonEntry, buildTree } from './entries.mjs';
import { buildGroups } from './groups.mjs';
import { drawLandscape } from './landscape.mjs';
import { formatLdif } from './ldif.mjs';
import { buildPeople } from './people.mjs';
import { FEATURED_APPEARANCES } from './featured.mjs';
import { drawPortrait } from './portrait/portrait.mjs';

const [file = fileURLToPath(new URL('directory.ldif', import.meta.url))] = process.argv.slice(2);

const people = buildPeople();
const groups = buildGroups(people);
const details = detailsOf(people, groups);
const entries = [
  ...buildTree(),
  ...(await Promise.all(
    people.map(async (person) =>
      buildPersonEntry(person, details.get(person.uid) ?? {}, await drawImages(person)),
    ),
  )),
  ...groups.map((group) => buildGroupEntry(group, roomOf(group, groups))),
];
await writeFile(file, formatLdif('Made by sample/generate.mjs; change that one.', entries));
console.log(`${file}: ${people.length} people, ${groups.length} groups`);

/** @param {import('./people.mjs').Person} person */
async function drawImages({ uid, woman, kind, hasPhoto, hasPicture }) {
  const adult = kind !== 'student';
  return {
    ...(hasPhoto && { photo: await renderJpeg(drawPortrait(uid, woman, adult, FEATURED_APPEARANCES[uid])) }),
    ...(hasPicture && { picture: await renderJpeg(drawLandscape(uid)) }),
  };
}

/** @param {string} svg */
function renderJpeg(svg) {
  return sharp(Buffer.from(svg)).jpeg({ quality: 76, chromaSubsampling: '4:2:0', mozjpeg: true }).toBuffer();
}
