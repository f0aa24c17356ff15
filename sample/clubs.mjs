// @ts-check

/**
 * A club or a project. Its members are drawn by lot, its owner is a teacher drawn by lot where none is named.
 * @typedef {object} Club
 * @property {string} cn
 * @property {string} displayName
 * @property {string} description
 * @property {number} size how many students are members by name
 * @property {string} [mail]
 * @property {string} [labeledURI]
 * @property {string} [adminGroup] a group whose people administer the club
 * @property {string} [ownerGroup] a group whose people own the club
 */

/**
 * @param {string} cn
 * @param {string} displayName
 * @param {number} size
 * @param {string} description
 * @param {Partial<Club>} [rest]
 * @returns {Club}
 */
function club(cn, displayName, size, description, rest = {}) {
  return { cn, displayName, size, description, ...rest };
}

const COUNCIL = { adminGroup: 'student-council' };
const SPORT = { adminGroup: 'sports-council' };
const MUSIC = { ownerGroup: 'music-department' };

/** @type {readonly { cn: string, displayName: string, description: string, clubs: readonly Club[] }[]} */
export const CLUB_FAMILIES = [
  {
    cn: 'science-clubs',
    displayName: 'Science Clubs',
    description: 'Everybody who counts, measures, programs or watches the stars in the afternoon.',
    clubs: [
      club(
        'chess-club',
        'Chess Club',
        34,
        'Blitz on Mondays, slow games on Thursdays. Beginners learn the rules in one afternoon.',
        { mail: 'chess@example.org', labeledURI: 'https://chess.school.example.org/ Ladder and games' },
      ),
      club(
        'robotics-club',
        'Robotics Club',
        26,
        'Builds machines that find their way out of a maze, most of the time.',
        { labeledURI: 'https://robotics.school.example.org/' },
      ),
      club(
        'astronomy-club',
        'Astronomy Club',
        18,
        'Meets on the roof on clear evenings, with one telescope and much cocoa.',
        { mail: 'stars@example.org' },
      ),
      club('coding-club', 'Coding Club', 40, 'Writes the programs the school needs and a few it does not.', {
        adminGroup: 'it-services',
        labeledURI: 'https://code.school.example.org/',
      }),
      club(
        'mathematics-circle',
        'Mathematics Circle',
        15,
        'One hard problem a week, and tea while we think.',
        { ownerGroup: 'mathematics-department' },
      ),
      club('garden-club', 'Garden Club', 22, 'Vegetables, bees and a pond with three newts.'),
      club('weather-station', 'Weather Station', 9, 'Reads the instruments every day, holidays included.', {
        labeledURI: 'https://weather.school.example.org/ Readings of today',
      }),
      club(
        'chemistry-kitchen',
        'Chemistry Kitchen',
        16,
        'Experiments that may be eaten: crème brûlée, sourdough and crystal sugar.',
        { ownerGroup: 'chemistry-department' },
      ),
    ],
  },
  {
    cn: 'arts-clubs',
    displayName: 'Arts Clubs',
    description: 'Music, stage, pictures and words.',
    clubs: [
      club(
        'choir',
        'Choir',
        60,
        'Sings in four parts, from Josquin to jazz. The summer concert is open to all.',
        {
          ...MUSIC,
          ...COUNCIL,
          mail: 'choir@example.org',
          labeledURI: 'https://choir.school.example.org/ Concerts and scores',
        },
      ),
      club(
        'orchestra',
        'Orchestra',
        48,
        'Rehearses on Wednesdays. This year: Dvořák, Sibelius and a piece of our own.',
        MUSIC,
      ),
      club(
        'jazz-band',
        'Jazz Band',
        14,
        'Plays at every festival that asks, and at some that do not.',
        MUSIC,
      ),
      club(
        'theatre',
        'Theatre Company',
        36,
        'One play in winter, one in summer, and never enough costumes.',
        { mail: 'theatre@example.org' },
      ),
      club(
        'photography-club',
        'Photography Club',
        19,
        'A darkroom, six old cameras, and walks through the town.',
      ),
      club('ceramics-studio', 'Ceramics Studio', 12, 'Clay, glaze and patience.', {
        ownerGroup: 'art-department',
      }),
      club(
        'film-club',
        'Ciné-Club',
        45,
        'A film every second Friday, in its own language, with subtitles: Tati, Kieślowski, Kurosawa, Varda.',
        { labeledURI: 'https://film.school.example.org/ Programme' },
      ),
      club(
        'creative-writing',
        'Creative Writing',
        13,
        'Reads aloud what it wrote during the week. Nobody has to.',
      ),
      club('school-newspaper', 'School Newspaper', 21, 'Eight issues a year, independent since 1974.', {
        ...COUNCIL,
        mail: 'newspaper@example.org',
        labeledURI: 'https://newspaper.school.example.org/',
      }),
      club('school-radio', 'School Radio', 17, 'On air in every long break.', COUNCIL),
      club(
        'book-club',
        'Book Club',
        24,
        'One book a month, chosen by vote and defended by whoever proposed it.',
        { ownerGroup: 'library-team' },
      ),
    ],
  },
  {
    cn: 'sports-clubs',
    displayName: 'Sports Clubs',
    description: 'All teams and everybody who trains with them.',
    clubs: [
      club('football-club', 'Football Club', 66, 'Four teams, from the first years to the last.', {
        ...SPORT,
        mail: 'football@example.org',
      }),
      club('basketball-club', 'Basketball Club', 38, 'Home games on Fridays in the old gym.', SPORT),
      club('volleyball-club', 'Volleyball Club', 32, 'Mixed teams; on the sand from May on.', SPORT),
      club('handball-club', 'Handball Club', 28, 'Looking for a goalkeeper, as always.', SPORT),
      club('athletics-club', 'Athletics Club', 35, 'Running, jumping and throwing.', SPORT),
      club(
        'swimming-club',
        'Swimming Club',
        30,
        'The pool is ours on Tuesdays and Thursdays from six to eight in the morning.',
        { ...SPORT, labeledURI: 'https://swimming.school.example.org/ Times and records' },
      ),
      club('climbing-club', 'Climbing Club', 27, 'The wall in the gym, and real rock twice a year.', SPORT),
      club('judo-club', 'Judo Club', 20, 'Learning to fall comes first.', SPORT),
      club('badminton-club', 'Badminton Club', 25, 'Six courts, no waiting.', SPORT),
      club('table-tennis-club', 'Table Tennis Club', 23, 'Open to whoever brings a bat.', SPORT),
      club('fencing-club', 'Fencing Club', 11, 'Foil and épée.', SPORT),
      club('dance-company', 'Dance Company', 29, 'From ballet to breakdance.', SPORT),
    ],
  },
  {
    cn: 'language-clubs',
    displayName: 'Language Clubs',
    description: 'Practise a language with people who grew up with it.',
    clubs: [
      club(
        'language-cafe',
        'Language Café',
        31,
        'A table for each language, and a café au lait, a türk kahvesi or a čaj with it.',
      ),
      club('debating-society', 'Debating Society', 22, 'Argues both sides, and means it.', COUNCIL),
      club(
        'model-united-nations',
        'Model United Nations',
        33,
        'Delegates for one weekend, résolutions included.',
        { mail: 'united-nations@example.org' },
      ),
      club('japanese-circle', 'Japanese Circle', 16, 'Kana in a month, kanji in a lifetime. 日本語サークル'),
      club('polish-circle', 'Polish Circle', 12, 'Prepares the exchange with Kraków: zażółć gęślą jaźń!'),
      club('latin-circle', 'Latin Circle', 10, 'Reads Ovid slowly and Asterix quickly.'),
      club('sign-language-group', 'Sign Language Group', 14, 'Learns to talk with hands and face.'),
    ],
  },
  {
    cn: 'community-clubs',
    displayName: 'Community Clubs',
    description: 'For the school, the town and the world around it.',
    clubs: [
      club('green-team', 'Green Team', 27, 'Solar roof, bicycle racks and less paper.', {
        ...COUNCIL,
        mail: 'green@example.org',
      }),
      club('peer-tutors', 'Peer Tutors', 44, 'Older students help younger ones, an hour at a time.', {
        mail: 'tutors@example.org',
      }),
      club(
        'game-night',
        'Game Night',
        37,
        'Boards, cards and dice on the last Friday of the month.',
        COUNCIL,
      ),
      club('school-medics', 'School Medics', 18, 'First aid in the breaks and at sports days.', {
        ownerGroup: 'health-team',
      }),
      club('repair-cafe', 'Repair Café', 15, 'Bicycles, lamps and headphones get a second life.'),
      club(
        'school-festival',
        'School Festival',
        52,
        'Plans the summer festival, from the stage to the lemonade.',
        { ownerGroup: 'student-council', labeledURI: 'https://festival.school.example.org/ 27 June' },
      ),
    ],
  },
];
