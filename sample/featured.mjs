// @ts-check
import { longCurls } from './portrait/hair-long.mjs';
import { DARK_BROWN, SCHEMES, SKINS } from './portrait/palette.mjs';

/** @typedef {import('./people.mjs').Naming} Naming */

/**
 * People with a part of their own: examples, tests and the groups name them. The first one is whom the demo
 * clients act for.
 * @type {readonly (Naming & { kind: import('./people.mjs').Kind, schoolYear?: string, hasPhoto: boolean, hasPicture: boolean, mail?: null })[]}
 */
export const FEATURED = [
  {
    ...named('ada.martin', 'Ada', 'Martin', true),
    kind: 'student',
    schoolYear: '3B',
    hasPhoto: true,
    hasPicture: true,
  },
  {
    ...named('anna.svensson', 'Anna', 'Svensson', true),
    kind: 'student',
    schoolYear: '3B',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('sean.obrien', 'Seán', "O'Brien", false),
    kind: 'student',
    schoolYear: '3A',
    hasPhoto: true,
    hasPicture: true,
  },
  {
    ...named('ipek.yilmaz', 'İpek', 'Yılmaz', true),
    kind: 'student',
    schoolYear: '1C',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('zoe.mueller-brandt', 'Zoë', 'Müller-Brandt', true),
    kind: 'student',
    schoolYear: '2A',
    hasPhoto: false,
    hasPicture: true,
  },
  {
    ...named('huong.nguyen', 'Thị Hương', 'Nguyễn', true, 'Nguyễn Thị Hương'),
    kind: 'student',
    schoolYear: '4D',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('lukasz.zolkiewski', 'Łukasz', 'Żółkiewski', false),
    kind: 'student',
    schoolYear: '6A',
    hasPhoto: false,
    hasPicture: false,
    mail: null,
  },
  {
    uid: 'meiling.chen',
    cn: 'Meiling Chen',
    displayName: '陳美玲',
    givenName: '美玲',
    sn: '陳',
    woman: true,
    kind: 'student',
    schoolYear: '5E',
    hasPhoto: true,
    hasPicture: true,
  },
  {
    uid: 'eleni.papadopoulou',
    cn: 'Eleni Papadopoulou',
    displayName: 'Ελένη Παπαδοπούλου',
    givenName: 'Ελένη',
    sn: 'Παπαδοπούλου',
    woman: true,
    kind: 'teacher',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    uid: 'wulandari',
    cn: 'Wulandari',
    displayName: 'Wulandari',
    sn: 'Wulandari',
    woman: true,
    kind: 'teacher',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('marguerite.lefevre', 'Marguerite', 'Lefèvre', true),
    kind: 'staff',
    hasPhoto: true,
    hasPicture: true,
  },
  { ...named('tomas.dvorak', 'Tomáš', 'Dvořák', false), kind: 'teacher', hasPhoto: true, hasPicture: false },
  {
    ...named('johanna.thorsdottir', 'Jóhanna', 'Þórsdóttir', true),
    kind: 'teacher',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('yusuf.al-rashid', 'Yusuf', 'al-Rashid', false),
    kind: 'staff',
    hasPhoto: true,
    hasPicture: false,
  },
  {
    ...named('bjorn.lindqvist', 'Björn', 'Lindqvist', false),
    kind: 'alumni',
    hasPhoto: true,
    hasPicture: false,
  },
];

/**
 * @param {string} uid
 * @param {string} givenName
 * @param {string} sn
 * @param {boolean} woman
 * @param {string} [written]
 * @returns {Naming}
 */
function named(uid, givenName, sn, woman, written = `${givenName} ${sn}`) {
  return { uid, cn: written, displayName: written, givenName, sn, woman };
}

/**
 * Faces that are not left to chance.
 * @type {Readonly<Record<string, import('./portrait/portrait.mjs').Appearance>>}
 */
export const FEATURED_APPEARANCES = {
  'ada.martin': {
    skin: SKINS[3],
    hair: DARK_BROWN,
    style: longCurls,
    scheme: SCHEMES[10],
    wearsGlasses: true,
  },
};
