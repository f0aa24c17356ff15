// @ts-check
import { shaded } from './palette.mjs';

/**
 * Drawn inside the shape of the body, which is filled with `colour` already.
 * @typedef {(colour: string, second: string) => string} Garment
 */

/** @type {Garment} */
const tee = (colour) =>
  `<path d="M102 194 Q128 222 154 194" fill="none" stroke="${shaded(colour, -0.2)}" stroke-width="7"/>`;

/** @type {Garment} */
const stripes = (colour, second) =>
  `${[216, 236, 256].map((y) => `<rect x="20" y="${y}" width="216" height="9" fill="${second}"/>`).join('')}${tee(colour, second)}`;

/** @type {Garment} */
const hoodie = (colour) => {
  const dark = shaded(colour, -0.2);
  return `<path d="M84 202 C92 178 112 190 128 214 C144 190 164 178 172 202 C160 222 144 226 128 226 C112 226 96 222 84 202 Z" fill="${dark}"/><path d="M118 222 L117 246 M138 222 L139 246" stroke="#f7efe1" stroke-width="3.5" stroke-linecap="round"/>`;
};

/** @type {Garment} */
const shirt = (colour) => {
  const light = shaded(colour, 0.45);
  return `<path d="M128 206 L128 262" stroke="${shaded(colour, -0.2)}" stroke-width="2.5"/><path d="M108 190 L100 202 L116 222 L128 206 L140 222 L156 202 L148 190 L128 206 Z" fill="${light}" stroke="${light}" stroke-width="3" stroke-linejoin="round"/><circle cx="133" cy="228" r="2.4" fill="${light}"/><circle cx="133" cy="244" r="2.4" fill="${light}"/>`;
};

/** @type {Garment} */
const turtleneck = (colour) =>
  `<path d="M108 180 Q128 192 148 180 L152 202 Q128 216 104 202 Z" fill="${shaded(colour, 0.12)}"/><path d="M104 202 Q128 216 152 202" fill="none" stroke="${shaded(colour, -0.2)}" stroke-width="3"/>`;

/** @type {Garment} */
const pullover = (colour, second) =>
  `<path d="M100 194 L128 238 L156 194 L128 204 Z" fill="#f9f5ec"/><path d="M108 190 L100 201 L117 218 L128 205 L139 218 L156 201 L148 190 L128 205 Z" fill="#ffffff"/><path d="M97 195 L128 242 L159 195" fill="none" stroke="${second}" stroke-width="6" stroke-linejoin="round"/>`;

/** @type {Garment} */
const blazer = (colour, second) =>
  `<path d="M98 194 L128 262 L158 194 L128 206 Z" fill="#f9f5ec"/><path d="M122 208 L134 208 L132 218 L139 250 L128 262 L117 250 L124 218 Z" fill="${second}"/><path d="M98 194 L86 204 L84 226 L96 226 L126 262 M158 194 L170 204 L172 226 L160 226 L130 262" fill="${shaded(colour, -0.22)}"/>`;

/** @type {Garment} */
const cardigan = (colour, second) =>
  `<path d="M98 194 L114 262 L142 262 L158 194 L128 210 Z" fill="${second}"/><path d="M97 193 L113 262 M159 193 L143 262" stroke="${shaded(colour, -0.2)}" stroke-width="5"/><path d="M104 194 Q128 220 152 194" fill="none" stroke="${shaded(second, -0.2)}" stroke-width="4"/>`;

/** @type {Garment} */
const dungarees = (colour, second) =>
  `<rect x="20" y="180" width="216" height="90" fill="${second}"/><path d="M102 194 Q128 222 154 194" fill="none" stroke="${shaded(second, -0.2)}" stroke-width="6"/><path d="M82 204 L92 236 L164 236 L174 204 L162 200 L154 226 L102 226 L94 200 Z M88 232 L168 232 L172 262 L84 262 Z" fill="${colour}"/><circle cx="97" cy="236" r="4" fill="#f3c766"/><circle cx="159" cy="236" r="4" fill="#f3c766"/>`;

/** @type {Garment} */
const scarf = (colour, second) =>
  `${tee(colour, second)}<path d="M92 190 Q128 222 164 190 L168 206 Q128 240 88 206 Z" fill="${second}"/><path d="M136 216 L160 212 L166 262 L142 262 Z" fill="${shaded(second, -0.14)}"/>`;

/** @type {Garment} */
const heart = (colour, second) =>
  `${tee(colour, second)}<path d="M128 252 C104 238 112 220 128 230 C144 220 152 238 128 252 Z" fill="${second}"/>`;

/** @type {readonly (readonly [number, Garment])[]} */
export const GARMENTS_OF_STUDENTS = [
  [4, tee],
  [3, stripes],
  [4, hoodie],
  [2, shirt],
  [2, turtleneck],
  [3, pullover],
  [2, cardigan],
  [2, dungarees],
  [1.5, scarf],
  [1, heart],
];

/** @type {readonly (readonly [number, Garment])[]} */
export const GARMENTS_OF_ADULTS = [
  [4, blazer],
  [4, shirt],
  [3, pullover],
  [3, cardigan],
  [3, turtleneck],
  [1, scarf],
  [1, tee],
];
