// @ts-check

/**
 * @typedef {object} Skin
 * @property {string} base
 * @property {string} shade under the chin, inside the ears, the nose
 * @property {string} blush
 * @property {number} depth 0 (fair) to 7 (dark)
 *
 * @typedef {object} Hair
 * @property {string} base
 * @property {string} shade
 * @property {string} light
 *
 * @typedef {object} Scheme a background and the clothes that go with it
 * @property {string} background
 * @property {string} motif
 * @property {readonly string[]} clothes
 */

/** @type {readonly Skin[]} */
export const SKINS = [
  ['#fbe0cd', '#eec0a6', '#f2a08c'],
  ['#f6d0b1', '#e4ae88', '#ec9277'],
  ['#edbd94', '#d59a6e', '#e0805f'],
  ['#e0a877', '#c38754', '#d0714c'],
  ['#c98d5c', '#a96f42', '#bd5f3f'],
  ['#a86f45', '#875431', '#a24c33'],
  ['#855333', '#683e25', '#8a3f2c'],
  ['#633c27', '#4a2b1b', '#76352a'],
].map(([base, shade, blush], depth) => ({ base, shade, blush, depth }));

const BLACK = { base: '#2b2528', shade: '#1c181b', light: '#453c41' };
export const DARK_BROWN = { base: '#44302a', shade: '#30211d', light: '#62473d' };
const BROWN = { base: '#6f4a33', shade: '#553624', light: '#8f6448' };
const CHESTNUT = { base: '#8c4a2f', shade: '#6d3722', light: '#ad6444' };
const GINGER = { base: '#c8662e', shade: '#a54f21', light: '#e08648' };
const DARK_BLOND = { base: '#b58650', shade: '#94693a', light: '#d0a56e' };
const BLOND = { base: '#e3bd72', shade: '#c79c52', light: '#f2d697' };
const GREY = { base: '#9d9aa0', shade: '#7f7c84', light: '#bcb9be' };
const WHITE = { base: '#dcdad9', shade: '#bdbabc', light: '#f0eeec' };

/** Dyed hair, as students have it. @type {readonly Hair[]} */
export const DYED_HAIR = [
  { base: '#2f8f8b', shade: '#21706d', light: '#51b3ac' },
  { base: '#d9678f', shade: '#b84b73', light: '#ec90b0' },
  { base: '#7b5ea7', shade: '#604688', light: '#9c82c4' },
  { base: '#3f6fb5', shade: '#2f5693', light: '#6590cf' },
];

/** @type {readonly Hair[]} */
export const GREY_HAIR = [GREY, WHITE];

/** @type {readonly (readonly [number, Hair])[]} */
export const HAIR_OF_FAIR_SKIN = [
  [2, BLACK],
  [4, DARK_BROWN],
  [5, BROWN],
  [3, CHESTNUT],
  [3, GINGER],
  [4, DARK_BLOND],
  [4, BLOND],
];

/** @type {readonly (readonly [number, Hair])[]} */
export const HAIR_OF_DARK_SKIN = [
  [7, BLACK],
  [4, DARK_BROWN],
];

const NAVY = '#31456a';
const TEAL = '#2f7f86';
const CORAL = '#e4705a';
const MUSTARD = '#e0a43a';
const FOREST = '#3f7355';
const PLUM = '#754668';
const CREAM = '#f7efe1';
const BRICK = '#b5503f';
const LILAC = '#9a86c4';
const SKY = '#5c9fd0';
const ROSE = '#dd829a';
const CHARCOAL = '#43474f';

/** @type {readonly Scheme[]} */
export const SCHEMES = [
  { background: '#fbe3c0', motif: '#f6cf97', clothes: [TEAL, NAVY, BRICK, FOREST, PLUM] },
  { background: '#cfe6ea', motif: '#b0d5dc', clothes: [CORAL, MUSTARD, NAVY, CREAM, BRICK] },
  { background: '#f7d3c8', motif: '#f0b8a8', clothes: [TEAL, NAVY, FOREST, CREAM, CHARCOAL] },
  { background: '#dbe8c9', motif: '#c3d8a8', clothes: [PLUM, CORAL, NAVY, MUSTARD, CREAM] },
  { background: '#e3daf0', motif: '#cdbfe4', clothes: [MUSTARD, FOREST, PLUM, CORAL, NAVY] },
  { background: '#f9dfe4', motif: '#f2c3cd', clothes: [NAVY, TEAL, PLUM, SKY, CHARCOAL] },
  { background: '#f6eebb', motif: '#ecdd8b', clothes: [SKY, CORAL, TEAL, LILAC, NAVY] },
  { background: '#c9e4d6', motif: '#a8d2bd', clothes: [CORAL, PLUM, MUSTARD, CREAM, BRICK] },
  { background: '#d4def2', motif: '#b7c8e8', clothes: [ROSE, MUSTARD, BRICK, CREAM, FOREST] },
  { background: '#ece5da', motif: '#ddd1bf', clothes: [TEAL, BRICK, NAVY, LILAC, FOREST, ROSE] },
  { background: '#8fc1c4', motif: '#78b0b4', clothes: [CREAM, MUSTARD, CORAL, NAVY] },
  { background: '#f0a68a', motif: '#e8916f', clothes: [CREAM, NAVY, TEAL, CHARCOAL] },
  { background: '#8fa6d0', motif: '#7c95c4', clothes: [CREAM, MUSTARD, CORAL, ROSE] },
  { background: '#f3c766', motif: '#eab64a', clothes: [TEAL, NAVY, PLUM, CREAM] },
];

/** For scarves, caps, headbands and other small things. @type {readonly string[]} */
export const FABRICS = [TEAL, CORAL, MUSTARD, NAVY, PLUM, ROSE, SKY, FOREST, LILAC, BRICK, CREAM];

/** @type {readonly string[]} */
export const EYES = ['#3a2a22', '#3a2a22', '#4a3728', '#2f4a5c', '#3d5a45', '#262329'];

/** @type {readonly string[]} */
export const GLASSES = ['#2e2b30', '#2e2b30', '#7a3b2e', '#31456a', '#b58b3c', '#a8434f'];

/**
 * @param {string} colour `#rrggbb`
 * @param {number} amount from -1 (black) over 0 (unchanged) to 1 (white)
 */
export function shaded(colour, amount) {
  const target = amount < 0 ? 0 : 255;
  const channels = [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));
  return `#${channels
    .map((channel) => Math.round(channel + (target - channel) * Math.abs(amount)))
    .map((channel) => channel.toString(16).padStart(2, '0'))
    .join('')}`;
}
