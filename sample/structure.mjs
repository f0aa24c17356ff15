// @ts-check

/**
 * What the school consists of, apart from its clubs.
 * @typedef {readonly (readonly [cn: string, displayName: string, description: string])[]} Titles
 */

/** @type {Titles} */
export const DEPARTMENTS = [
  [
    'mathematics-department',
    'Mathematics',
    'Teaches mathematics in all years and runs the olympiad in March.',
  ],
  ['physics-department', 'Physics', 'Teaches physics and looks after the collection in room 210.'],
  ['chemistry-department', 'Chemistry', 'Teaches chemistry and keeps the key to the fume cupboard.'],
  ['biology-department', 'Biology', 'Teaches biology and feeds the axolotls.'],
  [
    'computer-science-department',
    'Computer Science',
    'Teaches computer science and lends notebooks for homework.',
  ],
  ['history-department', 'History', 'Teaches history and politics, and plans the visits to museums.'],
  ['geography-department', 'Geography', 'Teaches geography and owns more maps than walls.'],
  ['english-department', 'English', 'Teaches English and reads whatever the students recommend.'],
  ['languages-department', 'Languages', 'Teaches français, español, polski, Türkçe and Latin.'],
  ['art-department', 'Art', 'Teaches art and hangs the exhibition in the foyer.'],
  ['music-department', 'Music', 'Teaches music and tunes the pianos.'],
  ['physical-education-department', 'Physical Education', 'Teaches sports, indoors and out.'],
];

/** @type {Titles} */
export const STAFF_TEAMS = [
  ['office', 'Office', 'Certificates, keys, lost property and an answer to most questions.'],
  ['library-team', 'Library', 'Open from seven to five, with 24,000 books and good chairs.'],
  ['caretakers', 'Caretakers', 'Heating, lights, chairs and everything that squeaks.'],
  ['kitchen', 'Kitchen', 'Cooks 900 lunches a day, one vegetarian and one à la carte.'],
  ['it-services', 'IT Services', 'Accounts, printers, and the directory you are reading.'],
  ['health-team', 'Health Team', 'A nurse, a psychologist and two social workers.'],
];

/** @typedef {{ member?: readonly string[], groupAdmin?: readonly string[], owner?: readonly string[] }} Roles */

/**
 * Roles of the featured people in clubs, to which they are not assigned at random.
 * @type {Readonly<Record<string, Roles>>}
 */
export const FEATURED_ROLES = {
  'chess-club': {
    member: ['ada.martin', 'meiling.chen'],
    groupAdmin: ['lukasz.zolkiewski'],
    owner: ['ada.martin', 'tomas.dvorak'],
  },
  'robotics-club': { member: ['anna.svensson'], groupAdmin: ['ada.martin'], owner: ['wulandari'] },
  // By name a member, and an administrator through the student council.
  choir: { member: ['ada.martin', 'huong.nguyen'] },
  'swimming-club': { member: ['ada.martin', 'zoe.mueller-brandt'], owner: ['johanna.thorsdottir'] },
  'school-newspaper': { groupAdmin: ['anna.svensson'], owner: ['eleni.papadopoulou'] },
  'debating-society': { owner: ['sean.obrien'] },
  'football-club': { member: ['sean.obrien'], groupAdmin: ['sean.obrien'] },
  'language-cafe': { member: ['ipek.yilmaz', 'huong.nguyen'] },
  'jazz-band': { member: ['huong.nguyen'], groupAdmin: ['huong.nguyen'] },
  'japanese-circle': { owner: ['meiling.chen'] },
  theatre: { groupAdmin: ['zoe.mueller-brandt'] },
};

/** Students who represent their class by name; the other classes draw lots. */
export const FEATURED_REPRESENTATIVES = ['ada.martin', 'sean.obrien', 'ipek.yilmaz'];
