// @ts-check
import { GARMENTS_OF_ADULTS, GARMENTS_OF_STUDENTS } from './clothes.mjs';
import {
  BEARDS,
  bothSides,
  BROWS,
  drawCheeks,
  drawFreckles,
  EYE_SHAPES,
  EYE_SHAPES_OF_WOMEN,
  EYE_SHAPES_ON_DARK_SKIN,
  facePath,
  GLASSES_SHAPES,
  MOUTHS,
  NOSES,
} from './face.mjs';
import { STYLES_OF_MEN, STYLES_OF_OLDER_MEN, STYLES_OF_WOMEN, STYLES_OVER_THE_EARS } from './hair.mjs';
import {
  DYED_HAIR,
  EYES,
  FABRICS,
  GLASSES,
  GREY_HAIR,
  HAIR_OF_DARK_SKIN,
  HAIR_OF_FAIR_SKIN,
  SCHEMES,
  shaded,
  SKINS,
} from './palette.mjs';
import { randomFor } from '../random.mjs';

/**
 * @typedef {object} Appearance what a portrait shows
 * @property {import('./palette.mjs').Skin} [skin]
 * @property {import('./palette.mjs').Hair} [hair]
 * @property {import('./hair.mjs').Style} [style]
 * @property {import('./palette.mjs').Scheme} [scheme]
 * @property {boolean} [wearsGlasses]
 */

/**
 * @param {string} uid
 * @param {boolean} woman
 * @param {boolean} adult
 * @param {Appearance} [wanted] what is not left to chance
 * @returns {string} an SVG of 256 by 256
 */
export function drawPortrait(uid, woman, adult, wanted = {}) {
  const random = randomFor('portrait', uid);
  const skin = wanted.skin ?? random.pick(SKINS);
  const old = adult && random.chance(0.35);
  const hair = wanted.hair ?? pickHair(random, skin, adult, old);
  const scheme = wanted.scheme ?? random.pick(SCHEMES);
  const stylesOfMen = old ? STYLES_OF_OLDER_MEN : STYLES_OF_MEN;
  const style = wanted.style ?? random.weighted(woman ? STYLES_OF_WOMEN : stylesOfMen);
  const [colour, second] = random.shuffle(scheme.clothes);
  const fabric = random.pick(FABRICS.filter((candidate) => candidate !== colour));

  const face = {
    skin,
    browColour: shaded(hair.shade, -0.1),
    eyeColour: random.pick(EYES),
    faceWidth: random.integer(43, 48),
    jaw: random.between(0.48, 0.72),
    eyeDistance: random.integer(18, 20),
  };
  const drawnHair = style({ hair, fabric, faceWidth: face.faceWidth, random });
  const garment = random.weighted(adult ? GARMENTS_OF_ADULTS : GARMENTS_OF_STUDENTS);
  const features = [
    random.chance(0.8) ? drawCheeks(face) : '',
    random.chance(skin.depth < 4 ? 0.18 : 0.03) ? drawFreckles(face) : '',
    random.pick(NOSES)(face),
    !woman && adult && random.chance(0.45) ? random.weighted(BEARDS)(face) : '',
    random.weighted(MOUTHS)(face),
    random.weighted(eyeShapesFor(woman, skin))(face),
    random.pick(BROWS)(face),
  ].join('');
  const glasses =
    (wanted.wearsGlasses ?? random.chance(adult ? 0.38 : 0.24))
      ? random.pick(GLASSES_SHAPES)(random.pick(GLASSES), face)
      : '';
  const earrings =
    woman && !STYLES_OVER_THE_EARS.has(style) && random.chance(0.5) ? drawEarrings(face, fabric) : '';

  // From back to front.
  return `<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256" viewBox="0 0 256 256">
<defs><clipPath id="body"><path d="${bodyPath(woman, adult)}"/></clipPath><clipPath id="face"><path d="${facePath(face)}"/></clipPath></defs>
<rect width="256" height="256" fill="${scheme.background}"/>${random.pick(MOTIFS)(scheme.motif)}
${drawnHair.back ?? ''}
<path d="M108 146 H148 V198 Q128 216 108 198 Z" fill="${skin.base}"/><path d="M108 164 Q128 186 148 164 V176 Q128 198 108 176 Z" fill="${skin.shade}"/>
<g clip-path="url(#body)"><rect y="170" width="256" height="86" fill="${colour}"/>${garment(colour, second)}</g>
<path d="${NECKLINE}" fill="${skin.base}"/><path d="M110 168 Q128 186 146 168 V176 Q128 196 110 176 Z" fill="${skin.shade}"/>
${drawEars(face)}<path d="${facePath(face)}" fill="${skin.base}"/>
<rect x="128" y="60" width="60" height="116" fill="${skin.shade}" opacity="0.22" clip-path="url(#face)"/>
${features}${drawnHair.front ?? ''}${drawnHair.over ?? ''}${glasses}${earrings}</svg>`;
}

const NECKLINE = 'M112 160 H144 V190 Q128 206 112 190 Z';

/**
 * @param {import('../random.mjs').Random} random
 * @param {import('./palette.mjs').Skin} skin
 * @param {boolean} adult
 * @param {boolean} old
 */
function pickHair(random, skin, adult, old) {
  if (old) return random.pick(GREY_HAIR);
  if (!adult && random.chance(0.05)) return random.pick(DYED_HAIR);
  return random.weighted(skin.depth < 4 ? HAIR_OF_FAIR_SKIN : HAIR_OF_DARK_SKIN);
}

/**
 * @param {boolean} woman
 * @param {import('./palette.mjs').Skin} skin
 */
function eyeShapesFor(woman, skin) {
  if (skin.depth > 5) return EYE_SHAPES_ON_DARK_SKIN;
  return woman ? EYE_SHAPES_OF_WOMEN : EYE_SHAPES;
}

/**
 * @param {boolean} woman
 * @param {boolean} adult
 */
function bodyPath(woman, adult) {
  const shoulder = 92 + (woman ? 0 : 8) + (adult ? 4 : 0);
  return `M${128 - shoulder} 262 C${130 - shoulder} 224 ${152 - shoulder} 208 98 200 L110 188 Q128 208 146 188 L158 200 C${104 + shoulder} 208 ${126 + shoulder} 224 ${128 + shoulder} 262 Z`;
}

/** @param {import('./face.mjs').FaceTraits} face */
function drawEars({ skin, faceWidth }) {
  return bothSides(
    (side) =>
      `<ellipse cx="${128 + side * (faceWidth + 1)}" cy="124" rx="9" ry="12" fill="${skin.base}"/><ellipse cx="${128 + side * (faceWidth + 2)}" cy="124" rx="4.5" ry="7" fill="${skin.shade}"/>`,
  );
}

/**
 * @param {import('./face.mjs').FaceTraits} face
 * @param {string} colour
 */
function drawEarrings({ faceWidth }, colour) {
  return bothSides(
    (side) => `<circle cx="${128 + side * (faceWidth + 3)}" cy="140" r="4.5" fill="${colour}"/>`,
  );
}

/** What is behind a person. @type {readonly ((colour: string) => string)[]} */
const MOTIFS = [
  () => '',
  (colour) => `<circle cx="128" cy="128" r="104" fill="${colour}"/>`,
  (colour) =>
    `<circle cx="196" cy="62" r="40" fill="${colour}"/><path d="M0 190 Q70 140 140 180 T256 166 V256 H0 Z" fill="${colour}"/>`,
  (colour) => `<path d="M0 256 L256 0 V256 Z" fill="${colour}"/>`,
  (colour) => `<path d="M0 40 H256 V80 H0 Z M0 120 H256 V160 H0 Z M0 200 H256 V240 H0 Z" fill="${colour}"/>`,
  (colour) =>
    [30, 84, 172, 226]
      .flatMap((x) => [34, 94, 154, 214].map((y) => `<circle cx="${x}" cy="${y}" r="9" fill="${colour}"/>`))
      .join(''),
  (colour) =>
    Array.from(
      { length: 9 },
      (_, ray) =>
        `<path d="M128 128 L${128 + 220 * Math.cos((ray * 40 * Math.PI) / 180)} ${128 + 220 * Math.sin((ray * 40 * Math.PI) / 180)} L${128 + 220 * Math.cos(((ray * 40 + 20) * Math.PI) / 180)} ${128 + 220 * Math.sin(((ray * 40 + 20) * Math.PI) / 180)} Z" fill="${colour}"/>`,
    ).join(''),
  (colour) =>
    bothSides(
      (side) =>
        `<path d="M${128 + side * 128} 256 Q${128 + side * 66} 170 ${128 + side * 96} 96 Q${128 + side * 140} 160 ${128 + side * 128} 256 Z M${128 + side * 128} 150 Q${128 + side * 84} 100 ${128 + side * 104} 30 Q${128 + side * 150} 90 ${128 + side * 128} 150 Z" fill="${colour}"/>`,
    ),
];
