import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  isIntrospectionType,
  isLeafType,
  isSpecifiedScalarType,
} from 'graphql';
import { type Connection, drawDiagram, connectionsOf } from './diagram.js';
import { describeRootField, describeType } from './describe.js';
import type { Example } from './example.js';
import type { ReferencePage } from './layout.js';
import { linkFrom, type PageName, placeOfType } from './links.js';
import { renderInline, renderMarkdown } from './markdown.js';

/** What the pages are made of. */
export interface Sources {
  /** With what its fields need, as the service serves it. */
  readonly schema: GraphQLSchema;
  readonly examples: ReadonlyMap<string, Example>;
  /** The page of errors, in Markdown. */
  readonly errors: string;
  /** What the reference begins with, in Markdown. */
  readonly introduction: string;
}

/** Every page of the reference. */
export async function buildPages(sources: Sources): Promise<ReferencePage[]> {
  const { schema, errors } = sources;
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
  const roots = [schema.getQueryType(), schema.getMutationType()];
  const isInput = (type: GraphQLNamedType) => isInputObjectType(type);
  const isValue = (type: GraphQLNamedType) => isLeafType(type);
  return [
    await firstPage(sources),
    rootPage('queries', 'Queries', schema.getQueryType(), sources),
    rootPage('mutations', 'Mutations', schema.getMutationType(), sources),
    typesPage(
      'objects',
      'Objects',
      types.filter((type) => !isInput(type) && !isValue(type) && !roots.includes(type as GraphQLObjectType)),
    ),
    typesPage('inputs', 'Inputs', types.filter(isInput)),
    typesPage('values', 'Values', types.filter(isValue)),
    errorsPage(errors),
  ];
}

/** Scopes, all that can be asked for, and how it hangs together. */
async function firstPage({ schema, introduction }: Sources): Promise<ReferencePage> {
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
${labelled(await drawDiagram(connections))}
</div>
<figcaption>From what can be asked for to what it gives. A field in brackets gives many; a dashed arrow leads to one of
several kinds. Numbers, texts and what mutations answer are left out.</figcaption>
</figure>
<details>
<summary>The same in words</summary>
${inWords(connections, schema)}</details>
</section>
`;
  return { name: '', title: 'Reference', body, contents: [] };
}

function rootList(title: string, page: PageName, type: GraphQLObjectType | null | undefined): string {
  const items = Object.values(type?.getFields() ?? {}).map(({ name, description }) => {
    const link = `<a href="${linkFrom('', `${page}#${name}`)}"><code>${name}</code></a>`;
    return `<li>${link} ${renderInline(description ?? '', '')}</li>\n`;
  });
  return `<section>\n<h2><a href="${linkFrom('', page)}">${title}</a></h2>\n<ul class="list">\n${items.join('')}</ul>\n</section>\n`;
}

function rootPage(
  name: PageName,
  title: string,
  type: GraphQLObjectType | null | undefined,
  { examples }: Sources,
): ReferencePage {
  const fields = Object.values(type?.getFields() ?? {});
  const body = fields.map((field) => {
    const example = examples.get(field.name);
    if (example === undefined) throw new Error(`There is no example of ${field.name}`);
    return describeRootField(field, name, example);
  });
  const about = `<p>${renderInline(type?.description ?? '', name)}</p>\n`;
  return { name, title, body: about + body.join(''), contents: fields.map((field) => field.name) };
}

function typesPage(name: PageName, title: string, types: readonly GraphQLNamedType[]): ReferencePage {
  const body = types.map((type) => describeType(type, name)).join('');
  return { name, title, body, contents: types.map((type) => type.name) };
}

/** Every code in a card of its own would tear the text apart: it stays as it is written. */
function errorsPage(markdown: string): ReferencePage {
  const [, rest = ''] = /^# [^\n]*\n([\s\S]*)$/.exec(markdown) ?? [];
  const codes = [...rest.matchAll(/^### (.+)$/gm)].map(([, code = '']) => code);
  return {
    name: 'errors',
    title: 'Errors',
    body: `<div class="card">\n${renderMarkdown(rest)}</div>\n`,
    contents: codes,
  };
}

/** The picture is one thing to those who hear it, and its words stand below. */
function labelled(svg: string): string {
  return svg.replace(
    '<svg',
    '<svg role="img" aria-label="Types and the fields that lead from one to another"',
  );
}

function inWords(connections: readonly Connection[], schema: GraphQLSchema): string {
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
