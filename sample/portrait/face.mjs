// @ts-check

/**
 * @typedef {object} FaceTraits
 * @property {import('./palette.mjs').Skin} skin
 * @property {string} browColour
 * @property {string} eyeColour
 * @property {number} faceWidth half the width
 * @property {number} jaw 0.45 (pointed) to 0.75 (broad)
 * @property {number} eyeDistance from the middle
 */

const LIP = '#9c4a45';
const MOUTH = '#7a2f35';
const LINE = 'fill="none" stroke-linecap="round" stroke-linejoin="round"';

/** @param {FaceTraits} traits */
export function facePath({ faceWidth: width, jaw }) {
  return `M${128 - width} 112 C${128 - width} 82 ${128 - width * 0.62} 62 128 62 C${128 + width * 0.62} 62 ${128 + width} 82 ${128 + width} 112 C${128 + width} 144 ${128 + width * jaw} 172 128 172 C${128 - width * jaw} 172 ${128 - width} 144 ${128 - width} 112 Z`;
}

/** @param {(side: -1 | 1) => string} draw */
export function bothSides(draw) {
  return draw(-1) + draw(1);
}

/** @typedef {(traits: FaceTraits) => string} Feature */

/** @type {Feature} */
const dotEyes = ({ eyeColour, eyeDistance }) =>
  bothSides(
    (side) =>
      `<ellipse cx="${128 + side * eyeDistance}" cy="121" rx="4.6" ry="5.6" fill="${eyeColour}"/><circle cx="${129.6 + side * eyeDistance}" cy="119" r="1.6" fill="#fff"/>`,
  );

/** @type {Feature} */
const wideEyes = ({ eyeColour, eyeDistance }) =>
  bothSides(
    (side) =>
      `<ellipse cx="${128 + side * eyeDistance}" cy="121" rx="8" ry="7" fill="#fff"/><circle cx="${128 + side * eyeDistance}" cy="121" r="4.8" fill="${eyeColour}"/><circle cx="${129.8 + side * eyeDistance}" cy="119" r="1.6" fill="#fff"/>`,
  );

/** @type {Feature} */
const laughingEyes = ({ eyeDistance }) =>
  bothSides(
    (side) =>
      `<path d="M${121 + side * eyeDistance} 123 q7 -9 14 0" ${LINE} stroke="#33272a" stroke-width="3.6"/>`,
  );

/** @type {Feature} */
const lashedEyes = (traits) =>
  dotEyes(traits) +
  bothSides((side) => {
    const x = 128 + side * traits.eyeDistance;
    return `<path d="M${x - side * 6} 117 Q${x + side * 1} 112 ${x + side * 7} 117 L${x + side * 10} 113.5" ${LINE} stroke="#33272a" stroke-width="2.6"/>`;
  });

/** @type {readonly (readonly [number, Feature])[]} */
export const EYE_SHAPES = [
  [5, dotEyes],
  [3, wideEyes],
  [2, laughingEyes],
];

/** @type {readonly (readonly [number, Feature])[]} */
export const EYE_SHAPES_OF_WOMEN = [[4, lashedEyes], ...EYE_SHAPES];

/** A dark dot would not be seen there. @type {readonly (readonly [number, Feature])[]} */
export const EYE_SHAPES_ON_DARK_SKIN = [
  [4, wideEyes],
  [1, laughingEyes],
];

/**
 * @param {number} lift how far the middle rises
 * @param {number} tilt how much the outer end is lower
 * @param {number} width of the stroke
 * @returns {Feature}
 */
const brows =
  (lift, tilt, width) =>
  ({ browColour, eyeDistance }) =>
    bothSides((side) => {
      const x = 128 + side * eyeDistance;
      return `<path d="M${x - side * 8} 106 Q${x + side * 1} ${106 - lift} ${x + side * 9} ${106 + tilt}" ${LINE} stroke="${browColour}" stroke-width="${width}"/>`;
    });

export const BROWS = [
  brows(5, 1, 3.6),
  brows(3, 1, 4.4),
  brows(7, 2, 3.2),
  brows(2, 0, 3.6),
  brows(5, 3, 4.2),
];

/** @type {readonly Feature[]} */
export const NOSES = [
  ({ skin }) => `<path d="M128 124 q-5 10 -3 13 q3 2 6 0" ${LINE} stroke="${skin.shade}" stroke-width="3"/>`,
  ({ skin }) => `<path d="M121 135 q7 6 14 0" ${LINE} stroke="${skin.shade}" stroke-width="3.4"/>`,
  ({ skin }) => `<ellipse cx="128" cy="135" rx="6" ry="4.5" fill="${skin.shade}"/>`,
  ({ skin }) => `<path d="M130 122 q7 11 2 15 q-4 2 -8 0" ${LINE} stroke="${skin.shade}" stroke-width="3"/>`,
];

/** @type {readonly (readonly [number, Feature])[]} */
export const MOUTHS = [
  [4, () => `<path d="M113 148 Q128 162 143 148" ${LINE} stroke="${LIP}" stroke-width="3.8"/>`],
  [3, () => `<path d="M117 150 Q128 158 139 150" ${LINE} stroke="${LIP}" stroke-width="3.8"/>`],
  [2, () => `<path d="M117 152 Q132 157 142 147" ${LINE} stroke="${LIP}" stroke-width="3.8"/>`],
  [
    4,
    () =>
      `<path d="M110 146 Q128 151 146 146 Q144 165 128 165 Q112 165 110 146 Z" fill="${MOUTH}"/><path d="M113 147.5 Q128 152 143 147.5 Q142 153 128 154 Q114 153 113 147.5 Z" fill="#fff"/><path d="M119 161 Q128 155 137 161 Q128 166 119 161 Z" fill="#d8696b"/>`,
  ],
  [
    2,
    () =>
      `<path d="M112 147 Q128 151 144 147 Q140 160 128 160 Q116 160 112 147 Z" fill="#fff" stroke="${LIP}" stroke-width="2.6" stroke-linejoin="round"/>`,
  ],
];

/** @type {Feature} */
export const drawCheeks = ({ skin, faceWidth }) =>
  bothSides(
    (side) =>
      `<ellipse cx="${128 + side * (faceWidth - 13)}" cy="139" rx="9" ry="6.5" fill="${skin.blush}" opacity="0.5"/>`,
  );

/** @type {Feature} */
export const drawFreckles = ({ skin, eyeDistance }) =>
  bothSides((side) =>
    [
      [-5, 132],
      [1, 135],
      [7, 131],
      [-1, 129],
    ]
      .map(
        ([x, y]) => `<circle cx="${128 + side * (eyeDistance + x)}" cy="${y}" r="1.5" fill="${skin.shade}"/>`,
      )
      .join(''),
  );

/** @type {Feature} */
const fullBeard = ({ browColour, faceWidth: width, jaw }) =>
  `<path fill-rule="evenodd" d="M${128 - width - 1} 116 C${128 - width - 1} 150 ${128 - width * jaw - 2} 180 128 180 C${128 + width * jaw + 2} 180 ${128 + width + 1} 150 ${128 + width + 1} 116 C${128 + width - 6} 132 ${128 + width - 8} 142 146 141 Q128 136 110 141 C${128 - width + 8} 142 ${128 - width + 6} 132 ${128 - width - 1} 116 Z M111 147 Q128 143 145 147 Q143 166 128 166 Q113 166 111 147 Z" fill="${browColour}"/>`;

/** @type {Feature} */
const goatee = ({ browColour }) =>
  `<path fill-rule="evenodd" d="M106 148 Q110 139 128 139 Q146 139 150 148 Q152 178 128 178 Q104 178 106 148 Z M111 147 Q128 143 145 147 Q143 166 128 166 Q113 166 111 147 Z" fill="${browColour}"/>`;

/** @type {Feature} */
const moustache = ({ browColour }) =>
  `<path d="M128 141 C120 137 108 141 104 150 C114 152 122 149 128 145 C134 149 142 152 152 150 C148 141 136 137 128 141 Z" fill="${browColour}"/>`;

/** @type {Feature} */
const stubble = (traits) => `<g opacity="0.28">${fullBeard(traits)}</g>`;

/** @type {readonly (readonly [number, Feature])[]} */
export const BEARDS = [
  [3, fullBeard],
  [2, goatee],
  [2, moustache],
  [3, stubble],
];

/**
 * @param {string} shape
 * @returns {(colour: string, traits: FaceTraits) => string}
 */
const glasses =
  (shape) =>
  (colour, { eyeDistance, faceWidth }) =>
    `${bothSides(
      (side) =>
        `<g transform="translate(${128 + side * (eyeDistance + 1)} 122)" fill="#ffffff" fill-opacity="0.22" stroke="${colour}" stroke-width="3.4">${shape}</g><path d="M${128 + side * (eyeDistance + 15)} 119 L${128 + side * (faceWidth + 1)} 116" stroke="${colour}" stroke-width="3"/>`,
    )}<path d="M${128 - eyeDistance + 13.5} 120 Q128 115 ${128 + eyeDistance - 13.5} 120" fill="none" stroke="${colour}" stroke-width="3.2"/>`;

export const GLASSES_SHAPES = [
  glasses('<circle r="14.5"/>'),
  glasses('<rect x="-15" y="-11" width="30" height="22" rx="7"/>'),
  glasses('<path d="M-15 -10 Q0 -13 15 -10 Q17 12 2 12 Q-15 13 -15 -10 Z"/>'),
];
