import {
  type GraphQLObjectType,
  type GraphQLSchema,
  isIntrospectionType,
  isSpecifiedScalarType,
} from 'graphql';
import { type DiagramEdge, drawDiagram, connectionsOf } from './diagram.js';
import type { DescribedSchema } from '../../src/reference/described-schema.js';
import { ownScopes, type ScopeDefinition } from '../../src/config/scopes.js';
import type { Sources } from './sources.js';
import { type Definition, Generator } from './generate.js';
import type { ReferencePage } from './layout.js';
import { linkFrom, type PageName, placeOfType } from './links.js';
import { renderDefinition, renderInline, renderMarkdown } from './markdown.js';
import { definitionEntries, errorEntries, type SearchEntry } from './search-entries.js';

/** Builds every page of the reference. */
export async function buildPages(
  { sdl, scopes }: DescribedSchema,
  { examples: list, errors, introduction }: Sources,
): Promise<ReferencePage[]> {
  const examples = new Map(list.map((example) => [example.name, example]));
  const generator = await Generator.start(sdl, examples);
  const page = (name: PageName, title: string, definitions: readonly Definition[], about?: string | null) =>
    definitionsPage(generator, { name, title, definitions, about: about ?? '' });
  const rootPage = (name: PageName, title: string, root: GraphQLObjectType | null | undefined) => {
    const fields = Object.values(root?.getFields() ?? {});
    const missing = fields.find((field) => !examples.has(field.name));
    if (missing) throw new Error(`There is no example of ${missing.name}`);
    return page(name, title, fields, root?.description);
  };
  const types = Object.values(generator.schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
  const typesPage = (name: PageName, title: string) =>
    page(
      name,
      title,
      types.filter((type) => placeOfType(type) === `${name}#${type.name}`),
    );
  return [
    await firstPage(generator.schema, withScopes(introduction, scopes)),
    await rootPage('queries', 'Queries', generator.schema.getQueryType()),
    await rootPage('mutations', 'Mutations', generator.schema.getMutationType()),
    await typesPage('objects', 'Objects'),
    await typesPage('inputs', 'Inputs'),
    await typesPage('values', 'Values'),
    errorsPage(errors),
  ];
}

/** Subject of a page of definitions. */
interface Subject {
  readonly name: PageName;
  readonly title: string;
  readonly definitions: readonly Definition[];
  /** Introduction above the definitions, in Markdown. */
  readonly about: string;
}

async function definitionsPage(
  generator: Generator,
  { name, title, definitions, about }: Subject,
): Promise<ReferencePage> {
  const sections: string[] = [];
  const entries: SearchEntry[] = [];
  for (const definition of definitions) {
    const markdown = await generator.print(definition);
    sections.push(`<section id="${definition.name}">\n${renderDefinition(markdown)}</section>\n`);
    entries.push(...definitionEntries(name, markdown));
  }
  const head = about === '' ? '' : `<p>${renderInline(about, name)}</p>\n`;
  return {
    name,
    title,
    body: head + sections.join(''),
    contents: definitions.map((each) => each.name),
    entries,
  };
}

/** Builds the page with the scopes, all queries and mutations, and the diagram. */
async function firstPage(schema: GraphQLSchema, introduction: string): Promise<ReferencePage> {
  const connections = connectionsOf(schema);
  const lists = [
    rootList('Queries', 'queries', schema.getQueryType()),
    rootList('Mutations', 'mutations', schema.getMutationType()),
  ];
  const body = `<div class="card">
${renderMarkdown(introduction)}</div>
${lists.join('')}<section id="types">
<h2>How the types hang together</h2>
<figure>
<div class="picture" tabindex="0" role="region" aria-label="Picture, which can be scrolled">
${labeled(await drawDiagram(connections))}
</div>
<figcaption>From what can be asked for to what it gives. A field in brackets gives many; a dashed arrow leads to one of
several kinds. Numbers, texts and what mutations answer are left out.</figcaption>
</figure>
<details>
<summary>The same in words</summary>
${inWords(connections, schema)}</details>
</section>
`;
  return { name: '', title: 'Reference', body, contents: [], entries: [] };
}

/** Adds the scopes of the model to the table of scopes. */
function withScopes(introduction: string, scopes: readonly ScopeDefinition[]): string {
  const rows = ownScopes(scopes).map(
    ({ name, description }) =>
      `| \`${name}\` | ${description.replace(/\s+/g, ' ').replaceAll('|', '\\|')} |\n`,
  );
  return introduction.replace(/^\| `write` .*\n/m, (row) => row + rows.join(''));
}

function rootList(title: string, page: PageName, type: GraphQLObjectType | null | undefined): string {
  const items = Object.values(type?.getFields() ?? {}).map(({ name, description }) => {
    const link = `<a href="${linkFrom('', `${page}#${name}`)}"><code>${name}</code></a>`;
    return `<li>${link} ${renderInline(description ?? '', '')}</li>\n`;
  });
  return `<section>\n<h2><a href="${linkFrom('', page)}">${title}</a></h2>\n<ul class="list">\n${items.join('')}</ul>\n</section>\n`;
}

/** Keeps the layout of the text, because a separate card for every code would break its structure. */
function errorsPage(markdown: string): ReferencePage {
  const [, rest = ''] = /^## Errors\n([\s\S]*)$/m.exec(markdown) ?? [];
  const codes = [...rest.matchAll(/^### (.+)$/gm)].map(([, code = '']) => code);
  return {
    name: 'errors',
    title: 'Errors',
    body: `<div class="card">\n${renderMarkdown(rest)}</div>\n`,
    contents: codes,
    entries: errorEntries(rest),
  };
}

/** Labels the diagram as one image for screen readers, because its contents also follow as text. */
function labeled(svg: string): string {
  return svg.replace(
    '<svg',
    '<svg role="img" aria-label="Types and the fields that lead from one to another"',
  );
}

function inWords(connections: readonly DiagramEdge[], schema: GraphQLSchema): string {
  const linkTo = (name: string) => {
    const type = schema.getType(name);
    const place = type === undefined ? '' : placeOfType(type);
    return `<a href="${linkFrom('', place)}"><code>${name}</code></a>`;
  };
  const items = connections.map(({ from, to, fields, isMany }) => {
    const many = isMany ? 'many ' : '';
    if (fields.length === 0) return `<li>${linkTo(from)} can be a ${linkTo(to)}</li>\n`;
    const names = fields.map((field) => `<code>${field}</code>`).join(', ');
    return `<li>${linkTo(from)} has ${many}${linkTo(to)} in ${names}</li>\n`;
  });
  return `<ul>\n${items.join('')}</ul>\n`;
}
