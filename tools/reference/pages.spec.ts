import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLSchema, isObjectType } from 'graphql';
import type { Access } from '../../src/auth/access.js';
import { ERROR_CODES } from '../../src/common/errors.js';
import type { RejectionCode } from '../../src/http/rejection.js';
import { finishSchema } from '../../src/graphql/schema/schema.js';
import { BUILT_IN_SCOPES } from '../../src/config/scopes.js';
import { describeSchema } from '../../src/reference/described-schema.js';
import { connectionsOf } from './diagram.js';
import type { ReferenceExample } from './example.js';
import type { ReferencePage } from './layout.js';
import { renderDefinition } from './markdown.js';
import { buildPages } from './pages.js';
import { errorEntries } from './search-entries.js';

/** Codes that only occur for pictures. */
const OF_PICTURES: RejectionCode[] = ['SIGNATURE_INVALID', 'URL_EXPIRED'];
const ERRORS = readFileSync('docs/http.md', 'utf8');

const USE = 'Use name.';
const EXAMPLE: ReferenceExample = {
  name: 'pet',
  purpose: 'A pet.',
  document: '{ pet { name } }',
  as: null,
  variables: {},
  answer: { pet: { name: '<Rex>' } },
};

/** Builds a small schema whose fields need a scope. */
function petSchema(): GraphQLSchema {
  const schema = buildSchema(`
    type Query { "One pet; NOT_FOUND when there is none." pet("Which <one>." id: ID = "1"): Pet, pets: PetConnection }
    type Pet { "Its \`name\`." name: String!, nick: String @deprecated(reason: "${USE}"), friend: Friend }
    type PetConnection { nodes: [Pet!]!, pageInfo: String }
    type Human { pets: [Pet] }
    union Friend = Pet | Human
  `);
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    const access: Access =
      type.name === 'Query' ? { kind: 'scopes', scopes: ['read', 'directory'] } : { kind: 'inherited' };
    for (const field of Object.values(type.getFields())) field.extensions = { access };
  }
  return finishSchema(schema);
}

function withoutColors(html: string): string {
  return html.replace(/<span class="hljs-[^"]*">|<\/span>/g, '');
}

describe('the page of errors', () => {
  it('has an anchor for every code, and what can be found leads there', async () => {
    const pages = await pagesOf([
      ['pet', EXAMPLE],
      ['pets', EXAMPLE],
    ]);
    const { body = '' } = pages.find(({ name }) => name === 'errors') ?? {};
    const anchors = [...body.matchAll(/<h3 id="([^"]+)">/g)].map(([, id]) => id);
    const codes = [...ERROR_CODES, ...OF_PICTURES].sort();
    expect(anchors.sort()).toEqual(codes);
    const entries = errorEntries(ERRORS);
    expect(entries.map(({ place }) => place).sort()).toEqual(codes.map((code) => `errors#${code}`));
    expect(entries.filter(({ text }) => text.length < 40)).toEqual([]);
  });
});

it('a heading in a description adds no element to the page', () => {
  const html = renderDefinition('# x "<img src=x>');
  expect(html).toContain('href="#x &quot;&lt;img src=x&gt;"');
  expect(html).not.toContain('<img');
});

describe('a page of the schema', () => {
  it('says of a field what it needs, of what it is made, and shows an example', async () => {
    const pages = await pagesOf([
      ['pet', EXAMPLE],
      ['pets', EXAMPLE],
    ]);
    const { body = '' } = pages.find(({ name }) => name === 'queries') ?? {};
    expect(body).toContain('Needs the scopes <code>read</code> and <code>directory</code>.');
    expect(body).toContain('Which &lt;one&gt;.');
    expect(withoutColors(body)).toContain('id: ID = &quot;1&quot;');
    expect(body).toContain(
      '<h4 id="pet.id"><a href="#pet.id"><code>id</code></a> <small><code>ID</code></small></h4>',
    );
    expect(body).toContain('<a href="errors#NOT_FOUND"><code>NOT_FOUND</code></a>');
    expect(withoutColors(body)).toContain('&quot;&lt;Rex&gt;&quot;');
  });

  it('says what is deprecated', async () => {
    const pages = await pagesOf([
      ['pet', EXAMPLE],
      ['pets', EXAMPLE],
    ]);
    const { body = '' } = pages.find(({ name }) => name === 'objects') ?? {};
    expect(body).toContain(`<strong>Deprecated.</strong> ${USE}`);
    expect(withoutColors(body)).toContain('nick: String @deprecated');
    expect(body).toContain('Its <code>name</code>.');
  });

  it('says of a type where it is used', async () => {
    const pages = await pagesOf([
      ['pet', EXAMPLE],
      ['pets', EXAMPLE],
    ]);
    const { body = '', entries = [] } = pages.find(({ name }) => name === 'objects') ?? {};
    const [, pet = ''] = /<section id="Pet">([^]+?)<\/section>/.exec(body) ?? [];
    expect(pet).toMatch(/<h3>Given by<\/h3>\n<p><a href="queries#pet">/);
    expect(pet).toMatch(/<h3>One of the kinds of<\/h3>\n<p><a href="objects#Friend">/);
    expect(entries.find(({ place }) => place === 'objects#Pet.nick')).toEqual({
      place: 'objects#Pet.nick',
      title: 'Pet.nick',
      kind: 'field',
      // Without the marks of Markdown.
      text: expect.stringMatching(new RegExp(`^[^>]*${USE}`)) as string,
    });
  });

  it('can be found with all that is on it', async () => {
    const pages = await pagesOf([
      ['pet', EXAMPLE],
      ['pets', EXAMPLE],
    ]);
    for (const { name, body, entries } of pages.filter(({ name }) => name !== '' && name !== 'errors')) {
      const anchors = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `${name}#${id}`);
      expect(entries.map(({ place }) => place)).toEqual(anchors);
    }
  });

  it('is not made of a query without an example', async () => {
    await expect(pagesOf([['pet', EXAMPLE]])).rejects.toThrow('There is no example of pets');
  });
});

describe('the picture', () => {
  it('has the types, without the pages that lead to them', () => {
    expect(connectionsOf(petSchema())).toEqual([
      { from: 'Query', to: 'Pet', fields: ['pet'], isMany: false },
      { from: 'Pet', to: 'Friend', fields: ['friend'], isMany: false },
      { from: 'Friend', to: 'Pet', fields: [], isMany: false },
      { from: 'Friend', to: 'Human', fields: [], isMany: false },
      { from: 'Human', to: 'Pet', fields: ['pets'], isMany: true },
      { from: 'Query', to: 'Pet', fields: ['pets'], isMany: true },
    ]);
  });
});

function pagesOf(examples: [string, ReferenceExample][]): Promise<ReferencePage[]> {
  const own = { name: 'contact', description: 'Phone | e-mail <numbers>.' };
  return buildPages(describeSchema(petSchema(), [...BUILT_IN_SCOPES, own]), {
    examples: examples.map(([name, example]) => ({ ...example, name })),
    errors: ERRORS,
    introduction: '| scope |\n| --- |\n| `write` |\n',
    scripts: {},
  });
}
