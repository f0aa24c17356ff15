// @ts-check
import { randomFor } from './random.mjs';

/**
 * @typedef {import('./random.mjs').Random} Random
 * @typedef {readonly [sky: string, light: string, far: string, middle: string, near: string]} Palette
 */

export const LANDSCAPE_WIDTH = 480;
export const LANDSCAPE_HEIGHT = 270;

/** @type {readonly Palette[]} */
const PALETTES = [
  ['#fbe3c0', '#f0a05a', '#e4b08c', '#b5745f', '#754668'],
  ['#cfe6ea', '#f7efe1', '#9cc7c9', '#4f969b', '#285e68'],
  ['#f7d3c8', '#f7eebb', '#e3a59c', '#a9667a', '#5a3f63'],
  ['#dbe8c9', '#f3c766', '#a8c58c', '#6a9a66', '#35664c'],
  ['#31456a', '#f6e7b4', '#4c6491', '#26375a', '#172441'],
  ['#d4def2', '#ffffff', '#a3b6de', '#6c84b8', '#3c5288'],
  ['#f3c766', '#f7efe1', '#e89a5a', '#b5503f', '#6a3140'],
];

/**
 * @param {string} uid
 * @returns {string} an SVG of 480 by 270: a landscape or a pattern, for the wide picture of a profile
 */
export function drawLandscape(uid) {
  const random = randomFor('landscape', uid);
  const palette = random.pick(PALETTES);
  const motif = random.pick([drawMountains, drawSea, drawCity, drawForest, drawTiles, drawWaves]);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LANDSCAPE_WIDTH}" height="${LANDSCAPE_HEIGHT}"><rect width="${LANDSCAPE_WIDTH}" height="${LANDSCAPE_HEIGHT}" fill="${palette[0]}"/>${motif(palette, random)}</svg>`;
}

/**
 * @param {Random} random
 * @param {string} colour
 */
function drawSun(random, colour) {
  const [x, y] = [random.integer(70, 410), random.integer(50, 100)];
  return `<circle cx="${x}" cy="${y}" r="${random.integer(24, 40)}" fill="${colour}"/>`;
}

/**
 * @param {readonly (readonly [number, number])[]} points the outline from left to right; filled down to the ground
 * @param {string} colour
 */
function drawGround(points, colour) {
  return `<path d="M0 270 L${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(' L')} L480 270 Z" fill="${colour}"/>`;
}

/**
 * @param {Random} random
 * @param {number} height
 * @param {number} swing
 * @returns {(x: number) => number} the height of rolling hills at x
 */
function hills(random, height, swing) {
  const [first, second] = [random.between(0, 6), random.between(0, 6)];
  return (x) => height + swing * (Math.sin(x / 71 + first) + 0.5 * Math.sin(x / 33 + second));
}

/** @param {(x: number) => number} heightAt */
function outline(heightAt) {
  return Array.from({ length: 49 }, (_, index) => /** @type {const} */ ([index * 10, heightAt(index * 10)]));
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawMountains([, light, far, middle, near], random) {
  const peaks = Array.from({ length: random.integer(3, 4) }, (_, index) => {
    const x = index * 135 + random.integer(10, 70);
    const y = random.integer(78, 130);
    const half = random.integer(105, 140);
    const snow = 0.24;
    return `<path d="M${x - half} 250 L${x} ${y} L${x + half} 250 Z" fill="${far}"/><path d="M${x} ${y} L${x + half} 250 L${x + half * 0.2} 250 Z" fill="${middle}" opacity="0.45"/><path d="M${x} ${y} l${-half * snow} ${(250 - y) * snow} l${half * 0.14} -8 l${half * 0.1} 10 l${half * 0.12} -10 l${half * 0.12} 8 Z" fill="#fdf9f1"/>`;
  });
  return `${drawSun(random, light)}${peaks.join('')}${drawGround(outline(hills(random, 205, 10)), middle)}${drawGround(outline(hills(random, 236, 8)), near)}`;
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawSea([, light, far, middle, near], random) {
  const boats = Array.from({ length: random.integer(1, 3) }, (_, index) => {
    const x = 80 + index * 140 + random.integer(-25, 40);
    const size = random.between(0.7, 1.3);
    return `<g transform="translate(${x} 190) scale(${size.toFixed(2)})"><path d="M-2 -62 V-6 H-34 Z" fill="#fdf9f1"/><path d="M3 -54 V-6 H28 Z" fill="${light}"/><path d="M-38 0 H34 L24 14 H-28 Z" fill="${near}"/></g>`;
  });
  return `${drawSun(random, light)}<rect y="160" width="480" height="110" fill="${far}"/>${boats.join('')}${drawGround(outline(hills(random, 214, 5)), middle)}${drawGround(outline(hills(random, 242, 5)), near)}`;
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawCity([, light, far, middle, near], random) {
  const rows = [
    { colour: far, low: 90, high: 150, windows: false },
    { colour: middle, low: 130, high: 190, windows: true },
  ];
  const houses = rows.flatMap(({ colour, low, high, windows }) => {
    const drawn = [];
    for (let x = -10; x < 480; x += 46) {
      const top = random.integer(low, high);
      drawn.push(
        `<rect x="${x}" y="${top}" width="${random.integer(34, 48)}" height="180" fill="${colour}"/>`,
      );
      for (let y = top + 12; windows && y < 225; y += 22) {
        const lit = [8, 22].filter(() => random.chance(0.55));
        drawn.push(
          ...lit.map((shift) => `<rect x="${x + shift}" y="${y}" width="8" height="11" fill="${light}"/>`),
        );
      }
    }
    return drawn;
  });
  return `${drawSun(random, light)}${houses.join('')}${drawGround(outline(hills(random, 238, 3)), near)}`;
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawForest([, light, far, middle, near], random) {
  const rows = [far, middle, near].map((colour, row) => {
    const trees = Array.from({ length: 9 }, (_, index) => {
      const x = index * 60 + random.integer(-20, 20);
      const ground = 190 + row * 40;
      const height = random.integer(70, 105);
      return `<path d="M${x} ${ground - height} l24 ${height * 0.5} h-10 l18 ${height * 0.5} h-64 l18 ${-height * 0.5} h-10 Z" fill="${colour}"/>`;
    });
    return `${trees.join('')}<rect y="${188 + row * 40}" width="480" height="90" fill="${colour}"/>`;
  });
  return `${drawSun(random, light)}${rows.join('')}`;
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawTiles(palette, random) {
  const size = 54; // a fifth of the height: the tiles come out even
  const tiles = [];
  for (let y = 0; y < LANDSCAPE_HEIGHT; y += size) {
    for (let x = 0; x < LANDSCAPE_WIDTH; x += size) {
      const [ground, figure] = random.shuffle(palette);
      const turn = random.integer(0, 3) * 90;
      const shape = random.pick([
        `<path d="M0 0 H54 A54 54 0 0 1 0 54 Z" fill="${figure}"/>`,
        `<path d="M0 0 H54 L0 54 Z" fill="${figure}"/>`,
        `<circle cx="27" cy="27" r="19" fill="${figure}"/>`,
        `<path d="M0 27 A27 27 0 0 1 54 27 Z" fill="${figure}"/>`,
      ]);
      tiles.push(
        `<g transform="translate(${x} ${y}) rotate(${turn} 27 27)"><rect width="54" height="54" fill="${ground}"/>${shape}</g>`,
      );
    }
  }
  return tiles.join('');
}

/**
 * @param {Palette} palette
 * @param {Random} random
 */
function drawWaves([, light, far, middle, near], random) {
  return `${drawSun(random, light)}${[light, far, middle, near]
    .map((colour, index) => drawGround(outline(hills(random, 118 + index * 38, 16)), colour))
    .join('')}`;
}
