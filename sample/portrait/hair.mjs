// @ts-check
import {
  bob,
  bobWithFringe,
  braids,
  locs,
  longCurls,
  longStraight,
  longWavy,
  pigtails,
  ponytail,
  puffs,
  topBun,
} from './hair-long.mjs';
import {
  afro,
  bald,
  buzz,
  crop,
  fade,
  pixie,
  quiff,
  receding,
  shortCurls,
  sidePart,
  spiky,
} from './hair-short.mjs';
import { headband, headscarf, turban, woollyHat } from './headwear.mjs';

/** @typedef {import('./hair-shapes.mjs').Style} Style */

/** @type {readonly (readonly [number, Style])[]} */
export const STYLES_OF_WOMEN = [
  [3, bob],
  [3, bobWithFringe],
  [4, longStraight],
  [4, longWavy],
  [4, longCurls],
  [3, ponytail],
  [3, topBun],
  [2, pigtails],
  [2, puffs],
  [2, braids],
  [1.5, locs],
  [2, pixie],
  [1.5, afro],
  [3, headscarf],
  [1, woollyHat],
  [2, headband],
  [1, shortCurls],
];

/** @type {readonly (readonly [number, Style])[]} */
export const STYLES_OF_MEN = [
  [4, crop],
  [2, buzz],
  [4, sidePart],
  [3, quiff],
  [2.5, spiky],
  [4, shortCurls],
  [2, afro],
  [1.5, locs],
  [3, fade],
  [1.2, turban],
  [1.2, woollyHat],
  [0.7, longStraight],
  [0.6, topBun],
  [1, pixie],
];

/** @type {readonly (readonly [number, Style])[]} */
export const STYLES_OF_OLDER_MEN = [
  [3, receding],
  [2, bald],
  [3, crop],
  [3, sidePart],
  [1, buzz],
];

/** Styles that leave nothing to see of the ears. @type {ReadonlySet<Style>} */
export const STYLES_OVER_THE_EARS = new Set([
  bob,
  bobWithFringe,
  longStraight,
  longWavy,
  longCurls,
  headscarf,
  headband,
  braids,
]);
