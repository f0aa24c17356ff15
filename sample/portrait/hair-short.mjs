// @ts-check
import { arc, cap, curls, roundHairline, sideHairline, strand } from './hair-shapes.mjs';

/** @typedef {import('./hair-shapes.mjs').Style} Style */

/** @type {Style} */
export const crop = (traits) => ({
  front: cap(traits, 50, roundHairline(traits)) + strand('M104 66 Q118 57 136 58', traits.hair.light),
});

/** @type {Style} */
export const buzz = (traits) => ({
  front: `<g opacity="0.82">${cap({ ...traits, faceWidth: traits.faceWidth - 3 }, 60, roundHairline(traits))}</g>`,
});

/** @type {Style} */
export const sidePart = (traits) => ({
  front:
    cap(traits, 46, sideHairline(traits)) + strand('M112 66 C122 78 140 84 158 84', traits.hair.shade, 2.5),
});

/** @type {Style} */
export const quiff = (traits) => ({
  front: `${cap(traits, 52, roundHairline(traits))}<path d="M88 84 C84 50 104 30 140 32 C166 32 182 52 172 82 C162 70 150 78 128 78 C112 78 98 74 88 84 Z" fill="${traits.hair.base}"/>${strand('M104 62 C112 46 132 42 150 46', traits.hair.light)}`,
});

/** @type {Style} */
export const spiky = (traits) => ({
  front: `${cap(traits, 56, roundHairline(traits))}<path d="M80 92 L78 66 L92 70 L96 44 L112 58 L126 36 L138 57 L156 42 L160 66 L178 62 L176 92 C160 80 96 80 80 92 Z" fill="${traits.hair.base}" stroke="${traits.hair.base}" stroke-width="6" stroke-linejoin="round"/>`,
});

/** @type {Style} */
export const shortCurls = (traits) => {
  const crown = arc(8, 172, 9, [traits.faceWidth + 2, 50], 16);
  return {
    back: curls(arc(0, 180, 9, [traits.faceWidth, 44], 16), traits.hair.shade),
    front: `${cap(traits, 58, roundHairline(traits), 108)}${curls(crown, traits.hair.base)}${curls(arc(50, 130, 4, [32, 40], 13), traits.hair.base)}${curls(
      [
        [108, 62, 5],
        [142, 58, 5],
        [162, 74, 4],
      ],
      traits.hair.light,
    )}`,
  };
};

/** @type {Style} */
export const afro = (traits) => ({
  back: `<circle cx="128" cy="92" r="70" fill="${traits.hair.base}"/>${curls(arc(-20, 200, 13, [66, 82], 14), traits.hair.base)}`,
  front: `${cap(traits, 50, roundHairline(traits), 104)}${curls(arc(58, 122, 5, [44, 34], 10), traits.hair.base)}${curls(
    [
      [98, 46, 6],
      [150, 40, 6],
      [172, 74, 5],
      [84, 78, 5],
    ],
    traits.hair.light,
  )}`,
});

/** @type {Style} */
export const pixie = (traits) => ({
  front: `${cap(traits, 46, `C${128 + traits.faceWidth - 4} 96 156 104 ${128 + traits.faceWidth - 14} 98 C146 104 132 84 126 88 C120 100 104 92 100 98 C96 104 ${128 - traits.faceWidth + 2} 96 ${128 - traits.faceWidth + 4} 112`, 122)}${strand('M112 60 Q124 52 142 56', traits.hair.light)}`,
});

/** @type {Style} */
export const fade = (traits) => ({
  front: `<g opacity="0.6">${cap({ ...traits, faceWidth: traits.faceWidth - 4 }, 60, roundHairline(traits), 114)}</g><path d="M88 86 C82 58 100 42 128 42 C156 42 174 58 168 86 C156 78 100 78 88 86 Z" fill="${traits.hair.base}"/>${strand('M106 60 Q126 50 146 56', traits.hair.light)}`,
});

/** @type {Style} */
export const receding = (traits) => ({
  front: [-1, 1]
    .map((side) => {
      const edge = 128 + side * (traits.faceWidth + 4);
      return `<path d="M${edge} 122 C${edge + side * 4} 96 ${edge - side * 2} 82 ${edge - side * 12} 76 C${edge - side * 10} 92 ${edge - side * 9} 104 ${edge - side * 8} 118 Z" fill="${traits.hair.base}"/>`;
    })
    .join(''),
});

/** @type {Style} */
export const bald = () => ({
  front:
    '<ellipse cx="110" cy="80" rx="13" ry="6" fill="#ffffff" opacity="0.22" transform="rotate(-28 110 80)"/>',
});
