/** @isolated It adds to the tables of fields. */
import fc from 'fast-check';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { own } from '../support/builders/custom-fields.js';
import { buildLdif } from '../support/builders/directory.js';
import { repetitions } from '../support/repetitions.js';
import { TestService } from '../support/servers/service.js';

/** Names of which each is typed in the forms of the others of its row, and finds all of them. */
const SAME = [
  "O’Brien|OBrien|O Brien|O'Brien|OʼBrien|O＇Brien|O‘Brien|O`Brien|O´Brien|o-brien".split('|'),
  ['Jean Pierre', 'Jean‐Pierre', 'JeanPierre', 'Jean–Pierre', 'Jean−Pierre', 'JEAN-PIERRE', 'Jean.Pierre'],
  ['J. R. R. Tolkien', 'JRR Tolkien', 'J.R.R.Tolkien', 'Tolkien, J.R.R.'],
  ['Strauß Łukasz Ødegård', 'strauss lukasz odegard', 'ŁUKASZ STRAUSS-ODEGARD'],
  ['がく ｶﾞﾗｽ', 'か\u3099く ガラス'],
  ['राम', 'रा\u200Dम'],
  ['김민준', '김민준'.normalize('NFD')],
];

const PEOPLE: Record<string, string> = {
  belen: 'Belén Muñoz',
  castano: 'Belén Castaño Muñoz',
  anna: 'Anna Schmidt',
  hannah: 'Hannah Goldschmidt',
  johan: 'Johan Nilsson',
  schmidt: 'Schmidt Dr. Anna-Lena',
  percent: '100% sure_thing \\o/',
  rima: 'रीमा',
  nam: 'น้ำ',
  na: 'นา',
  kaku: 'かく',
  gaku: 'がく',
  li: '李小龙',
  thomas: 'トーマス・ミュラー',
  shalom: 'שָׁלוֹם',
  ali: 'مُحَمَّد علي',
  initials: 'Lo Presti',
};
/** Names with letters that case and accents change in special ways. */
const UNUSUAL: Record<string, string> = {
  ipek: 'İpek IŞIK',
  nguyen: 'Nguyễn Thị Ánh',
  sisyphus: 'Σίσυφος Παπαδόπουλος',
  quotes: `Siobhán O'Neill "Bó"`,
  emoji: 'Rocket 🚀👩‍🚀',
  hyphen: 'Ma\u00ADria-José',
  ligature: 'Joseﬁne Ǆon',
};
const CONTACTS = [
  {
    id: 'p1',
    name: 'First Phone',
    phone: '+49 30 23125-234',
    email: 'carla.vogel@mail.example.net',
    schoolYear: 'Secret',
  },
  { id: 'p2', name: 'Second Phone', phone: '+49 (0)30 9876 543', email: 'x@y.example' },
  { id: 'p3', name: 'Third Phone', phone: '030 / 555 66 77', familyName: 'Zwetschge', givenName: 'Käthe' },
];

describe('a search by words', () => {
  let service: TestService;
  let authorization: string;
  const added = [
    own('phone', 'String', 'line', { attributes: ['telephoneNumber'], isSearchable: true }),
    own('address', 'String', 'line', { attributes: ['mail'], isSearchable: true }),
    own('secret', 'String', 'line', { attributes: ['schoolYear'], isSearchable: true, visibleTo: 'self' }),
  ];

  beforeAll(async () => {
    USER_FIELDS.push(...added);
    const same = SAME.flatMap((names, row) =>
      names.map((name, index) => ({ id: `same${row}x${index}`, name })),
    );
    const people = Object.entries({ ...PEOPLE, ...UNUSUAL }).map(([id, name]) => ({ id, name }));
    const all = [...same, ...people, ...CONTACTS];
    service = await TestService.start({
      ldif: buildLdif(all, [
        { id: 'everyone', name: 'Staff of Saint-Exupéry', members: all.map(({ id }) => id) },
        { id: 'other', name: 'Exupery Saint' },
        { id: 'friends', name: 'Friends of Johan', description: 'All of them', email: 'friends@example.org' },
      ]),
    });
    authorization = await service.serviceAccount('read', 'directory', 'write');
  });

  afterAll(async () => {
    await service.stop();
    USER_FIELDS.splice(-added.length);
  });

  it.each(SAME.flatMap((names, row) => names.map((name): [string, number] => [name, row])))(
    'finds, for «%s», the name in every form',
    async (query, row) => {
      const ids = SAME[row]?.map((_, index) => `same${row}x${index}`) ?? [];
      expect(await find(query)).toEqual(expect.arrayContaining(ids));
    },
  );

  it.each([
    ['Muñoz, Belén', ['belen', 'castano']],
    ['belen munoz', ['belen', 'castano']],
    ['mun bel', ['castano', 'belen']],
    ['MUÑOZ castano', ['castano']],
    ['Belén Belén', ['castano', 'belen']],
    ['anna schmidt', ['anna', 'schmidt', 'hannah']],
    ['schmidt anna', ['anna', 'schmidt', 'hannah']],
    ['annalena', ['schmidt']],
    ['anna n', ['anna', 'hannah', 'schmidt']],
    ['nalen', ['schmidt']],
    ['nsch', []],
    ['hann', ['hannah']],
    ['lopresti', ['initials']],
    ['o thing 100', ['percent']],
    ['राम', ['same5x0', 'same5x1']],
    ['रीमा', ['rima']],
    ['น้ำ', ['nam']],
    ['นา', ['na']],
    ['かく', ['kaku']],
    ['か', ['kaku']],
    ['ガ', ['same4x0', 'same4x1']],
    ['ｶﾞ', ['same4x0', 'same4x1']],
    ['龙', ['li']],
    ['龙 李', ['li']],
    ['민', ['same6x0', 'same6x1']],
    ['가', []],
    ['ミュラートーマス', []],
    ['トーマスミュラー', ['thomas']],
    ['ミュラー トーマス', ['thomas']],
    ['שלום', ['shalom']],
    ['محمد', ['ali']],
    ['käthe zwetsch', ['p3']],
    ['carla vogel', ['p1']],
    ['vogel@mail', ['p1']],
    ['carla.vogel@mail.example.net', ['p1']],
    ['carlavogel', ['p1']],
    ['example net', ['p1']],
    ['first vogel', ['p1']],
    ['+49 30 23125-234', ['p1']],
    ['0049 30 23125 234', ['p1']],
    ['+493023125234', ['p1']],
    ['030/23125234', ['p1']],
    ['(030) 231 252 34', ['p1']],
    ['+49 (0) 30 23125234', ['p1']],
    ['first 03023125234', ['p1']],
    ['second 03023125234', []],
    ['23125', ['p1']],
    ['+48 30 23125234', []],
    ['030 9876543', ['p2']],
    ['+49309876543', ['p2']],
    ['0305556677', ['p3']],
    ['+49 30 5556677', ['p3']],
    ['555 6677', ['p3']],
    ['Secret', []],
    ['first secret', []],
    ["'-’.,", []],
    ['-', null],
    ['%n', []],
    ['_ a', []],
    ['\\ o', ['percent']],
    ['anna %', []],
    ['saint exupery', ['other', 'everyone']],
    ['Exupéry, Saint', ['other', 'everyone']],
    ['ipek isik', ['ipek']],
    ['ıpek', ['ipek']],
    ['nguyen thi anh', ['nguyen']],
    ['Nguye\u0302\u0303n', ['nguyen']],
    ['ΣΙΣ', ['sisyphus']],
    ['συφοσ', ['sisyphus']],
    ['παπαδοπουλος', ['sisyphus']],
    ["o'neill", ['quotes']],
    ['"bo"', ['quotes']],
    ['🚀👩', ['emoji']],
    ['ma\u200Bria-jose', ['hyphen']],
    ['josefine', ['ligature']],
    ['a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f', []],
    ['a'.repeat(64), []],
  ] as [string, string[] | null][])('finds «%s», best first', async (query, ids) => {
    if (ids === null) await expect(find(query)).rejects.toThrow();
    else expect(await find(query)).toEqual(ids);
  });

  it('finds in a preview the name that it gives, and not the former one', async () => {
    const members = (query: string) =>
      `members(first: 5, filter: {search: "${query}"}) { nodes { user { id } } }`;
    const { updateUser } = await service.read<{ updateUser: { user: unknown } }>(
      `mutation {
        updateUser(input: {user: {id: "johan"}, name: "Anne-Sophie Weiß"}) {
          user { groups(first: 1) { nodes { group { now: ${members('weiss annesophie')} former: ${members('nilsson')} } } } }
        }
      }`,
      { authorization },
    );
    const nodes = { now: { nodes: [{ user: { id: 'johan' } }] }, former: { nodes: [] } };
    expect(updateUser.user).toEqual({ groups: { nodes: [{ group: nodes }] } });
  });

  it('finds every name however its words are separated, ordered, marked and written', async () => {
    const everyone = [
      ...SAME.flatMap((names, row) => names.map((name, index) => [`same${row}x${index}`, name] as const)),
      ...Object.entries(PEOPLE),
    ];
    const separators = ['’', "'", 'ʼ', '-', '‐', '–', '−', ', ', '. ', ' ', '  ', '.', ' - '];
    const typed = fc
      .record({
        person: fc.constantFrom(...everyone),
        keys: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
        separators: fc.array(fc.constantFrom(...separators), { minLength: 12, maxLength: 12 }),
        isUpper: fc.boolean(),
        isDecomposed: fc.boolean(),
        isCut: fc.boolean(),
      })
      .map(({ person: [id, name], keys, separators: between, isUpper, isDecomposed, isCut }) => {
        const words = name.split(/[^\p{L}\p{M}\p{N}%_\\]+/u).filter((word) => word !== '');
        const shuffled = words
          .map((word, index) => ({ word, key: keys[index] ?? 0 }))
          .sort((one, other) => one.key - other.key);
        // A word may be the beginning of one. Marks of the last letter stay.
        const kept = shuffled.map(({ word }) =>
          isCut ? (/^.\p{M}*.?\p{M}*/u.exec(word)?.[0] ?? word) : word,
        );
        const text = kept.map((word, index) => `${index === 0 ? '' : between[index]}${word}`).join('');
        const cased = isUpper ? text.toUpperCase() : text;
        return { id, query: isDecomposed ? cased.normalize('NFD') : cased };
      })
      .filter(({ query }) => [...query.normalize('NFC')].length >= 2);
    await fc.assert(
      fc.asyncProperty(typed, async ({ id, query }) => expect(await find(query)).toContain(id)),
      { numRuns: repetitions({ usually: 60, long: 1000 }) },
    );
  });

  it.each([
    ['100%', ['percent']],
    ['0% s', ['percent']],
    ['e_t', ['percent']],
    ['\\o/', ['percent']],
    ['\\o', ['percent']],
    ['%%', []],
    ['a%n', []],
    ['a_n', []],
    ['__', []],
    ['.*', []],
    ['\\\\', []],
    ["';", []],
    ["'; drop table users; --", []],
    ['$1', []],
    ['\0\0', []],
    ['hann\0', ['hannah']],
    ['\ud800\ud800', []],
    ['\u202e\u200f', []],
    ['\u0301\u0301', []],
    ['  ', []],
    ['\t\n', []],
  ])('takes %j literally', async (query, ids) => expect((await find(query)).sort()).toEqual([...ids].sort()));

  async function find(query: string): Promise<string[]> {
    const { found } = await service.read<{ found: { nodes: { id: string }[]; totalCount: number } }>(
      `query ($query: String!) {
        found: search(query: $query, first: 100) { nodes { ... on User { id } ... on Group { id } } totalCount }
      }`,
      { authorization, variables: { query } },
    );
    expect(found.totalCount).toBe(found.nodes.length);
    return found.nodes.map(({ id }) => id);
  }
});
