// @ts-check

/**
 * The canvas is 256 by 256; a face is centred on x = 128, its crown at y = 64 and its chin at y = 172.
 *
 * @typedef {object} Drawing
 * @property {string} [back] behind shoulders and face
 * @property {string} [front] over the face
 * @property {string} [over] over the clothes and everything else
 *
 * @typedef {object} HairTraits
 * @property {import('./palette.mjs').Hair} hair
 * @property {string} fabric scarves, caps, bands
 * @property {number} faceWidth half the width of the face
 * @property {import('../random.mjs').Random} random
 *
 * @typedef {(traits: HairTraits) => Drawing} Style
 */

/**
 * Hair close to the head, from ear to ear; the hairline is the path from right to left.
 * @param {HairTraits} traits
 * @param {number} top the highest point
 * @param {string} hairline
 * @param {number} [ends] where it ends beside the ears
 */
export function cap({ hair, faceWidth }, top, hairline, ends = 116) {
  const left = 128 - faceWidth - 5;
  const right = 128 + faceWidth + 5;
  return `<path d="M${left} ${ends} C${left - 5} 74 ${left + 18} ${top} 128 ${top} C${right - 18} ${top} ${right + 5} 74 ${right} ${ends} L${right - 7} ${ends} ${hairline} L${left + 7} ${ends} Z" fill="${hair.base}"/>`;
}

/** @param {HairTraits} traits */
export function roundHairline({ faceWidth }) {
  const left = 128 - faceWidth + 4;
  const right = 128 + faceWidth - 4;
  return `C${right} 98 ${right - 4} 90 ${right - 12} 87 C150 82 106 82 ${left + 12} 87 C${left + 4} 90 ${left} 98 ${left} 110`;
}

/** @param {HairTraits} traits */
export function sideHairline({ faceWidth }) {
  const left = 128 - faceWidth + 4;
  const right = 128 + faceWidth - 4;
  return `C${right} 104 ${right - 2} 96 ${right - 8} 92 C148 92 122 86 110 70 C106 84 ${left + 8} 90 ${left + 5} 96 C${left} 102 ${left} 106 ${left} 112`;
}

/** @param {HairTraits} traits */
export function partedHairline({ faceWidth }) {
  const left = 128 - faceWidth + 3;
  const right = 128 + faceWidth - 3;
  return `C${right} 96 148 92 128 66 C108 92 ${left} 96 ${left} 114`;
}

/** @param {HairTraits} traits */
export function straightFringe({ faceWidth }) {
  const left = 128 - faceWidth + 3;
  const right = 128 + faceWidth - 3;
  return `L${right} 106 Q128 98 ${left} 106`;
}

/**
 * @param {readonly (readonly [number, number, number])[]} circles centre and radius
 * @param {string} colour
 */
export function curls(circles, colour) {
  return circles
    .map(
      ([x, y, radius]) =>
        `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${colour}"/>`,
    )
    .join('');
}

/**
 * Points on an arc around the head; angles in degrees, 0 to the right, 90 upwards.
 * @param {number} from
 * @param {number} to
 * @param {number} count
 * @param {readonly [number, number]} radii
 * @param {number} size
 * @returns {[number, number, number][]}
 */
export function arc(from, to, count, [radiusX, radiusY], size) {
  return Array.from({ length: count }, (_, index) => {
    const angle = ((from + ((to - from) * index) / (count - 1)) * Math.PI) / 180;
    return [128 + radiusX * Math.cos(angle), 112 - radiusY * Math.sin(angle), size];
  });
}

/**
 * @param {string} path
 * @param {string} colour
 * @param {number} [width]
 */
export function strand(path, colour, width = 3) {
  return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linecap="round"/>`;
}
