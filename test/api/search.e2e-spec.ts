import fc from 'fast-check';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

/** Names by id: each is found by a typical search text. */
const PEOPLE: Record<string, string> = {
  ann: 'Zacharias First',
  annika: 'Annika Zwei',
  joanna: 'Joanna Drei',
  strauss: 'Anton Strauß',
  aase: 'Åse Øverland',
  zak: 'Łukasz Żak',
  ipek: 'İpek IŞIK',
  nguyen: 'Nguyễn Thị Ánh',
  sisyphus: 'Σίσυφος Παπαδόπουλος',
  li: '李小龙',
  kim: '김민준',
  ali: 'محمد علي',
  percent: '100% sure_thing \\o/',
  quotes: `Siobhán O'Neill "Bó"`,
  emoji: 'Rocket 🚀👩‍🚀',
  hyphen: 'Ma\u00ADria-José',
  ligature: 'Joseﬁne Ǆon',
};
const GROUPS = [
  {
    id: 'ann-club',
    name: 'Friends of Ann',
    description: 'All of them',
    email: 'club@example.org',
    members: Object.keys(PEOPLE),
  },
  { id: 'danish', name: 'Dänische Gruppe', members: ['@ann-club'] },
];

describe('a search', () => {
  const service = TestService.forSuite(() => {
    const people = Object.entries(PEOPLE).map(([id, name]) => ({
      id,
      name,
      givenName: 'Some',
      email: `${id}@example.org`,
    }));
    return { ldif: buildLdif(people, GROUPS) };
  });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it.each([
    ['STRAUSS', ['strauss']],
    ['strauß', ['strauss']],
    ['Strau', ['strauss']],
    ['ase over', ['aase']],
    ['ÅSE ØVER', ['aase']],
    ['lukasz zak', ['zak']],
    ['ŁUKASZ', ['zak']],
    ['ipek isik', ['ipek']],
    ['İPEK IŞIK', ['ipek']],
    ['ıpek', ['ipek']],
    ['nguyen thi anh', ['nguyen']],
    ['NGUYỄN', ['nguyen']],
    ['Nguye\u0302\u0303n', ['nguyen']],
    ['ΣΙΣ', ['sisyphus']],
    ['ΣΊΣΥΦΟΣ', ['sisyphus']],
    ['συφοσ', ['sisyphus']],
    ['παπαδοπουλος', ['sisyphus']],
    ['小龙', ['li']],
    ['김민준', ['kim']],
    ['민준', ['kim']],
    ['محمد', ['ali']],
    ['🚀👩', ['emoji']],
    ['maria', ['hyphen']],
    ['ma\u200Bria-jose', ['hyphen']],
    ['josefine', ['ligature']],
    ['danisch', ['danish']],
    ["o'neill", ['quotes']],
    ['"bo"', ['quotes']],
  ])('finds %s regardless of case and accents', async (query, ids) => expect(await find(query)).toEqual(ids));

  it('returns an exact id first, then names that begin with the text, then names that contain it', async () => {
    // A word of each name matches: «Annika», «Friends of Ann» begin with the text, and «Joanna» contains it.
    expect(await find('ann')).toEqual(['ann', 'annika', 'ann-club', 'joanna']);
    expect(await find('ANN')).toEqual(['ann', 'annika', 'ann-club', 'joanna']);
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
    ['ann\0', ['ann', 'annika', 'ann-club', 'joanna']],
    ['\ud800\ud800', []],
    ['\u202e\u200f', []],
    ['\u0301\u0301', []],
    ['  ', []],
    ['\t\n', []],
  ])('takes %j literally', async (query, ids) => expect((await find(query)).sort()).toEqual([...ids].sort()));

  it('never fails for any text', async () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary', minLength: 2, maxLength: 64 }),
      fc.string({ unit: 'grapheme', minLength: 2, maxLength: 20 }),
      fc
        .array(fc.constantFrom('%', '_', '\\', "'", '"', '\0', ' ', '\ud83d', '*', '(', '[', '$', 'a'), {
          minLength: 2,
          maxLength: 8,
        })
        .map((all) => all.join('')),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (query) => {
        for (const field of [undefined, 'users(first: 50, filter: {search: $query})']) {
          const { status, errors } = await sendRequest(query, field);
          expect(status).toBe(200);
          for (const { extensions } of errors) expect(extensions.code).toBe('BAD_USER_INPUT');
        }
      }),
      { numRuns: repetitions({ usually: 40, long: 100 }) },
    );
  });

  async function find(query: string): Promise<string[]> {
    const { data, errors } = await sendRequest(query);
    expect(errors).toEqual([]);
    return data?.found.nodes.map(({ id }) => id) ?? [];
  }

  it('returns the same values as the fields of users and groups', async () => {
    const person = `name givenName email schoolYear photo createdAt groups(first: 5) { nodes { user { updatedAt } } }`;
    const group =
      'name website description updatedAt members(first: 1) { totalCount nodes { group { email } } }';
    for (const [ofPeople, ofGroups] of [
      [person, ''],
      ['', group],
      [person, group],
    ]) {
      const { data } = await service.query<{ search: { nodes: object[] }; user: object; group: object }>(
        `{
          search(query: "ann", first: 10) { nodes { ... on User { __typename ${ofPeople} } ... on Group { __typename ${ofGroups} } } }
          user(user: {id: "ann"}) { __typename ${ofPeople} }
          group(group: {id: "ann-club"}) { __typename ${ofGroups} }
        }`,
        { authorization },
      );
      expect(data?.search.nodes[0]).toEqual(data?.user);
      expect(data?.search.nodes).toContainEqual(data?.group);
    }
  });

  function sendRequest(query: string, field = 'search(query: $query, first: 50)') {
    const nodes = field.startsWith('search') ? '__typename ... on User { id } ... on Group { id }' : 'id';
    return service.query<{ found: { nodes: { id: string }[]; totalCount: number } }>(
      `query ($query: String!) { found: ${field} { nodes { ${nodes} } totalCount } }`,
      { authorization, variables: { query } },
    );
  }
});
