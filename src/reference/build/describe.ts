import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  print,
} from 'graphql';
import { escapeHtml } from '../../pages/html.js';
import { describeAccess } from './access.js';
import type { Example } from './example.js';
import { linkFrom, type PageName, placeOfType, ROOTS } from './links.js';
import { codeBlock, renderInline } from './markdown.js';

/** A type with everything that it has, as a section of its page. */
export function describeType(type: GraphQLNamedType, page: PageName): string {
  return `<section id="${type.name}">
<h2>${heading(type.name, type.name)} <small>${kindOf(type)}</small></h2>
${paragraph(type.description, page)}${membersOf(type, page)}</section>
`;
}

/** A query or mutation, with an example. */
export function describeRootField(
  field: GraphQLField<unknown, unknown>,
  page: PageName,
  example: Example,
): string {
  return `<section id="${field.name}">
<h2>${heading(field.name, field.name)} <small>${typeLink(field.type, page)}</small></h2>
${fieldBody(field, page)}${describeExample(example, page)}</section>
`;
}

function membersOf(type: GraphQLNamedType, page: PageName): string {
  if (isObjectType(type)) {
    return Object.values(type.getFields())
      .map((field) => member(type, field.name, typeLink(field.type, page), fieldBody(field, page)))
      .join('');
  }
  if (isInputObjectType(type)) {
    return Object.values(type.getFields())
      .map((field) => member(type, field.name, inputType(field, page), inputBody(field, page)))
      .join('');
  }
  if (isUnionType(type)) {
    const members = type.getTypes().map((each) => typeLink(each, page));
    return `<p>One of ${members.join(' or ')}.</p>\n`;
  }
  return isEnumType(type) ? valuesOf(type, page) : '';
}

function valuesOf(type: GraphQLEnumType, page: PageName): string {
  return type
    .getValues()
    .map((value) =>
      member(
        type,
        value.name,
        '',
        paragraph(value.description, page) + deprecation(value.deprecationReason, page),
      ),
    )
    .join('');
}

function member(owner: GraphQLNamedType, name: string, type: string, body: string): string {
  const id = `${owner.name}.${name}`;
  return `<article id="${id}">
<h3>${heading(id, name)}${type === '' ? '' : ` <small>${type}</small>`}</h3>
${body}</article>
`;
}

function fieldBody(field: GraphQLField<unknown, unknown>, page: PageName): string {
  const access = describeAccess(field);
  return [
    paragraph(field.description, page),
    deprecation(field.deprecationReason, page),
    access === null ? '' : `<p class="access">${renderInline(access, page)}</p>\n`,
    describeArguments(field.args, page),
  ].join('');
}

function inputBody({ description, deprecationReason }: GraphQLInputField, page: PageName): string {
  return paragraph(description, page) + deprecation(deprecationReason, page);
}

function describeArguments(given: readonly GraphQLArgument[], page: PageName): string {
  if (given.length === 0) return '';
  const rows = given.map(
    (argument) => `<dt><code>${argument.name}</code> <small>${inputType(argument, page)}</small></dt>
<dd>${renderInline(argument.description ?? '', page)}${deprecation(argument.deprecationReason, page)}</dd>
`,
  );
  return `<dl class="arguments">\n${rows.join('')}</dl>\n`;
}

/** What an example asks, with what, and what the sample directory answers. */
function describeExample(
  { name, purpose, document, variables, answer, as }: Example,
  page: PageName,
): string {
  const asker =
    as === null
      ? ''
      : ` Asked ${as === 'application' ? 'by an application, for Ada Martin' : 'by a service account'}.`;
  const given =
    Object.keys(variables).length === 0
      ? ''
      : `<p>With these variables:</p>\n${codeBlock(JSON.stringify(variables, null, 2), `Variables of ${name}`)}`;
  return `<h3>Example</h3>
<p>${renderInline(purpose, page)}${asker}</p>
${codeBlock(document, `Example of ${name}`)}${given}<p>The answer:</p>
${codeBlock(JSON.stringify({ data: answer }, null, 2), `Answer to the example of ${name}`)}`;
}

/** A heading that is a link to itself, so that its address can be copied. */
function heading(id: string, text: string): string {
  return `<a href="#${id}"><code>${breakable(text)}</code></a>`;
}

/** A long name may go on in the next line where a word begins. */
function breakable(name: string): string {
  return escapeHtml(name).replace(/(?<=[a-z])(?=[A-Z])|(?<=_)/g, '<wbr>');
}

function typeLink(type: GraphQLType, page: PageName): string {
  const named = getNamedType(type);
  const [before = '', after = ''] = String(type).split(named.name);
  const inner = `${before}${breakable(named.name)}${after}`;
  if (isSpecifiedScalarType(named)) return `<code>${inner}</code>`;
  return `<a href="${linkFrom(page, placeOfType(named))}"><code>${inner}</code></a>`;
}

function inputType(input: GraphQLArgument | GraphQLInputField, page: PageName): string {
  const value = input.defaultValue === undefined ? null : astFromValue(input.defaultValue, input.type);
  const given = value ? ` = <code>${escapeHtml(print(value))}</code>` : '';
  return typeLink(input.type, page) + given;
}

function kindOf(type: GraphQLNamedType): string {
  if (ROOTS[type.name] !== undefined || isObjectType(type)) return 'object';
  if (isInputObjectType(type)) return 'input';
  if (isUnionType(type)) return 'union';
  return isEnumType(type) ? 'enum' : 'scalar';
}

function paragraph(description: string | null | undefined, page: PageName): string {
  return description ? `<p>${renderInline(description, page)}</p>\n` : '';
}

function deprecation(reason: string | null | undefined, page: PageName): string {
  if (reason === undefined || reason === null) return '';
  return `<p class="deprecated"><strong>Deprecated.</strong> ${renderInline(reason, page)}</p>\n`;
}
