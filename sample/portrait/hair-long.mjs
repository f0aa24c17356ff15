// @ts-check
import {
  arc,
  cap,
  curls,
  partedHairline,
  roundHairline,
  sideHairline,
  straightFringe,
  strand,
} from './hair-shapes.mjs';

/** @typedef {import('./hair-shapes.mjs').Style} Style */

/** @type {Style} */
export const bob = (traits) => ({
  back: `<path d="M70 110 C66 62 92 44 128 44 C164 44 190 62 186 110 L190 168 Q188 186 166 184 L90 184 Q68 186 66 168 Z" fill="${traits.hair.shade}"/>`,
  front:
    cap(traits, 44, sideHairline(traits), 150) +
    strand('M108 62 C120 76 140 84 160 84', traits.hair.shade, 2.5),
});

/** @type {Style} */
export const bobWithFringe = (traits) => ({
  back: `<path d="M70 110 C66 62 92 46 128 46 C164 46 190 62 186 110 L188 166 Q187 180 168 180 L88 180 Q69 180 68 166 Z" fill="${traits.hair.shade}"/>`,
  front: cap(traits, 46, straightFringe(traits), 158) + strand('M104 62 Q128 52 152 62', traits.hair.light),
});

/** @type {Style} */
export const longStraight = (traits) => ({
  back: `<path d="M70 108 C66 62 92 44 128 44 C164 44 190 62 186 108 L194 236 Q160 246 128 240 Q96 246 62 236 Z" fill="${traits.hair.shade}"/>`,
  front: cap(traits, 45, partedHairline(traits), 150) + strand('M128 47 L128 64', traits.hair.shade, 2),
});

/** @type {Style} */
export const longWavy = (traits) => ({
  back: `<path d="M70 108 C62 60 92 42 128 42 C164 42 194 60 186 108 C182 130 202 146 194 170 C188 190 208 206 196 234 Q128 254 60 234 C48 206 68 190 62 170 C54 146 74 130 70 108 Z" fill="${traits.hair.shade}"/>`,
  front:
    cap(traits, 43, sideHairline(traits), 146) + strand('M110 60 C122 76 142 84 162 86', traits.hair.light),
});

/** @type {Style} */
export const longCurls = (traits) => ({
  back:
    curls(arc(-62, 242, 19, [62, 78], 22), traits.hair.shade) +
    `<path d="M66 100 Q128 10 190 100 L190 180 Q128 232 66 180 Z" fill="${traits.hair.shade}"/>`,
  front: `${cap(traits, 50, partedHairline(traits), 120)}${curls(arc(-14, 194, 12, [traits.faceWidth + 11, 60], 14), traits.hair.base)}${curls(
    [
      [92, 62, 5],
      [120, 48, 5],
      [158, 60, 5],
      [180, 110, 4],
    ],
    traits.hair.light,
  )}`,
});

/** @type {Style} */
const pulledBack = (traits) => ({
  front:
    cap(traits, 52, roundHairline(traits), 112) +
    strand('M100 80 Q112 62 128 56', traits.hair.shade, 2) +
    strand('M156 80 Q146 62 132 56', traits.hair.shade, 2),
});

/** @type {Style} */
export const ponytail = (traits) => ({
  ...pulledBack(traits),
  back: `<path d="M150 56 C196 36 222 74 212 120 C206 150 214 168 200 190 C184 178 186 150 184 128 C182 104 172 92 150 84 Z" fill="${traits.hair.shade}"/><circle cx="166" cy="64" r="9" fill="${traits.fabric}"/>`,
});

/** @type {Style} */
export const topBun = (traits) => ({
  ...pulledBack(traits),
  back: `<circle cx="128" cy="42" r="24" fill="${traits.hair.base}"/>${strand('M114 38 Q128 24 143 40', traits.hair.light, 2.5)}<rect x="112" y="54" width="32" height="9" rx="4" fill="${traits.fabric}"/>`,
});

/** @type {Style} */
export const pigtails = (traits) => ({
  back: [-1, 1]
    .map(
      (side) =>
        `<path d="M${128 + side * 48} 84 C${128 + side * 92} 70 ${128 + side * 96} 130 ${128 + side * 76} 172 C${128 + side * 62} 150 ${128 + side * 62} 120 ${128 + side * 46} 104 Z" fill="${traits.hair.shade}"/><circle cx="${128 + side * 54}" cy="90" r="8" fill="${traits.fabric}"/>`,
    )
    .join(''),
  front: cap(traits, 48, partedHairline(traits), 110) + strand('M128 50 L128 64', traits.hair.shade, 2),
});

/** @type {Style} */
export const puffs = (traits) => ({
  back: [-1, 1].map((side) => curls(puff(128 + side * 54, 58), traits.hair.base)).join(''),
  front: cap(traits, 54, partedHairline(traits), 106) + strand('M128 55 L128 66', traits.hair.shade, 2),
});

/**
 * @param {number} x
 * @param {number} y
 * @returns {[number, number, number][]}
 */
function puff(x, y) {
  const around = Array.from({ length: 8 }, (_, index) => (index * Math.PI) / 4);
  return [
    [x, y, 22],
    .../** @type {[number, number, number][]} */ (
      around.map((angle) => [x + 17 * Math.cos(angle), y + 17 * Math.sin(angle), 11])
    ),
  ];
}

/** @type {Style} */
export const braids = (traits) => ({
  back: `<path d="M72 108 C66 62 92 46 128 46 C164 46 190 62 184 108 L180 150 L76 150 Z" fill="${traits.hair.shade}"/>`,
  front: cap(traits, 46, partedHairline(traits), 140) + strand('M128 48 L128 64', traits.hair.shade, 2),
  over: [-1, 1]
    .map((side) => {
      const x = 128 + side * (traits.faceWidth + 4);
      const links = [148, 163, 178, 193, 208].map(
        (y, index) =>
          `<ellipse cx="${x + side * 1.5 * index}" cy="${y}" rx="10" ry="10" fill="${index % 2 ? traits.hair.shade : traits.hair.base}"/>`,
      );
      return `${links.join('')}<rect x="${x + side * 7 - 7}" y="215" width="14" height="7" rx="3" fill="${traits.fabric}"/><path d="M${x + side * 7 - 7} 222 L${x + side * 7 + 7} 222 L${x + side * 9} 240 Z" fill="${traits.hair.base}"/>`;
    })
    .join(''),
});

/** @type {Style} */
export const locs = (traits) => ({
  back: Array.from({ length: 13 }, (_, index) => {
    const x = 68 + index * 10;
    return strand(
      `M${128 + (x - 128) * 0.6} 70 C${x} 90 ${x} 130 ${x + ((index * 7) % 5) - 2} ${192 + ((index * 5) % 4) * 5}`,
      index % 2 ? traits.hair.base : traits.hair.shade,
      11,
    );
  }).join(''),
  front:
    cap(traits, 48, roundHairline(traits), 118) +
    [96, 108, 120, 134, 148, 160]
      .map((x) =>
        strand(`M${128 + (x - 128) * 0.5} 54 Q${x} 64 ${x + (x - 128) * 0.3} 80`, traits.hair.light, 2.5),
      )
      .join(''),
});
