// @ts-check
import { bob, longWavy } from './hair-long.mjs';
import { cap, roundHairline, strand } from './hair-shapes.mjs';
import { shaded } from './palette.mjs';

/** @typedef {import('./hair-shapes.mjs').Style} Style */

/** @type {Style} */
export const headscarf = (traits) => {
  const fold = shaded(traits.fabric, -0.16);
  const width = traits.faceWidth;
  return {
    back: `<path d="M66 120 C58 60 90 38 128 38 C166 38 198 60 190 120 C190 160 206 190 214 236 L42 236 C50 190 66 160 66 120 Z" fill="${fold}"/>`,
    over: `<path fill-rule="evenodd" d="M66 122 C58 60 90 38 128 38 C166 38 198 60 190 122 C190 158 186 186 176 206 Q150 236 104 226 Q74 212 70 176 Z M${128 - width + 2} 120 C${128 - width + 2} 150 110 169 128 169 C146 169 ${128 + width - 2} 150 ${128 + width - 2} 120 C${128 + width - 2} 92 152 78 128 78 C104 78 ${128 - width + 2} 92 ${128 - width + 2} 120 Z" fill="${traits.fabric}"/>${strand('M82 176 Q120 214 176 176', fold)}${strand('M84 194 Q118 226 164 206', fold)}${strand('M88 84 Q104 56 134 52', shaded(traits.fabric, 0.25), 2.5)}`,
  };
};

/** @type {Style} */
export const turban = (traits) => {
  const fold = shaded(traits.fabric, -0.16);
  return {
    front: `<path d="M76 100 C62 52 96 30 128 30 C160 30 194 52 180 100 C164 88 146 74 128 66 C110 74 92 88 76 100 Z" fill="${traits.fabric}" stroke="${traits.fabric}" stroke-width="5" stroke-linejoin="round"/>${strand('M128 66 C150 60 172 66 182 82', fold)}${strand('M128 66 C106 60 84 66 74 82', fold)}${strand('M128 62 C152 44 166 46 178 62', fold)}${strand('M128 62 C104 44 90 46 78 62', fold)}`,
  };
};

/** @type {Style} */
export const woollyHat = (traits) => ({
  ...(traits.random.chance(0.5) && { back: bob(traits).back }),
  front: `${cap(traits, 60, roundHairline(traits), 118)}<path d="M76 90 C70 44 98 30 128 30 C158 30 186 44 180 90 Z" fill="${traits.fabric}"/><rect x="72" y="78" width="112" height="20" rx="9" fill="${shaded(traits.fabric, -0.18)}"/>${[92, 110, 128, 146, 164].map((x) => strand(`M${x} 83 L${x} 93`, traits.fabric, 3)).join('')}<circle cx="128" cy="28" r="12" fill="${shaded(traits.fabric, 0.35)}"/>`,
});

/** @type {Style} */
export const headband = (traits) => ({
  ...longWavy(traits),
  front: `${cap(traits, 45, roundHairline(traits), 146)}<path d="M80 88 C88 58 106 50 128 50 C150 50 168 58 176 88 L168 84 C160 66 148 61 128 61 C108 61 96 66 88 84 Z" fill="${traits.fabric}"/>`,
});
