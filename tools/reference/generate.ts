import { BeforeComposePageTypeEvent, Printer } from '@graphql-markdown/printer-legacy';
import {
  buildSchema,
  getDirectiveValues,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql';
import { NEEDS } from '../../src/reference/described-schema.js';
import { type ReferenceExample, exampleInMarkdown } from './example.js';
import { placeOfName } from './links.js';

type Formatter = NonNullable<Parameters<typeof Printer.init>[4]>;

/** A definition that has a section: a type, or a field of a root type. */
export type Definition = GraphQLNamedType | GraphQLField<unknown, unknown>;

/**
 * Sections of a definition in their order. `directives` is left out, because the description already contains
 * it.
 */
const SECTIONS = ['description', 'code', 'metadata', 'example', 'relations'];

/** Escaped special characters of MDX, in the form that the generator writes. */
const ESCAPED = /&#x(00[0-9A-F]{2});/g;

/** Generates Markdown for definitions with GraphQL-Markdown: signatures, members, arguments, and uses. */
export class Generator {
  private constructor(readonly schema: GraphQLSchema) {}

  /**
   * Only one generator can exist at a time, because the printer keeps its configuration for the whole
   * process.
   */
  static async start(sdl: string, examples: ReadonlyMap<string, ReferenceExample>): Promise<Generator> {
    const annotated = buildSchema(sdl);
    Printer.options = undefined;
    await Printer.init(
      annotated,
      '',
      '/',
      {
        customDirectives: accessDirective(annotated),
        printTypeOptions: { hierarchy: 'entity', typeBadges: false },
        sectionHeaderId: false,
      },
      formatter(annotated),
      '',
      { emitAsync: (_name, event) => compose(event, examples) },
    );
    return new Generator(annotated);
  }

  /**
   * @param definition a definition of the generator's schema
   * @returns Markdown: the name is a heading of level 1, its sections are of level 3, and their items below
   */
  async print(definition: Definition): Promise<string> {
    const markdown = await Printer.printType(definition.name, definition, { frontMatter: false });
    // Adds a label to the code block for screen readers.
    const labeled = (markdown ?? '').replace(
      '```graphql\n',
      `\`\`\`graphql Definition of ${definition.name}\n`,
    );
    return labeled.replace(ESCAPED, (_, code: string) => String.fromCodePoint(parseInt(code, 16)));
  }
}

/** How the generator renders the directive: as an emphasized paragraph. */
function accessDirective(annotated: GraphQLSchema) {
  const type = annotated.getDirective(NEEDS);
  if (!type) throw new Error('The schema is not annotated');
  const descriptor = (_directive: unknown, field: unknown): string => {
    const { astNode } = field as GraphQLField<unknown, unknown>;
    return `*${String(getDirectiveValues(type, astNode ?? {})?.['what'])}*`;
  };
  return { [NEEDS]: { type, descriptor } };
}

/** Chooses the sections, and adds the example. */
function compose(event: unknown, examples: ReadonlyMap<string, ReferenceExample>) {
  if (event instanceof BeforeComposePageTypeEvent) {
    const { name, sections } = event.data;
    const example = examples.get(name ?? '');
    if (example !== undefined) sections.example = { title: 'Example', content: exampleInMarkdown(example) };
    event.output = SECTIONS;
  }
  return Promise.resolve({ errors: [], defaultPrevented: false });
}

/** Formats in plain Markdown the parts that the generator would write as HTML for one of its frameworks. */
function formatter(schema: GraphQLSchema): Formatter {
  const plain = {
    formatMDXNameEntity: (name: string, parent?: string | null) => `\`${parent ? `${parent}.` : ''}${name}\``,
    formatMDXLink: ({ text }: { text: string }) => ({ text, url: placeOfName(schema, text) }),
    formatMDXBullet: (text?: string) => (text === undefined ? ' · ' : ` ${text}`),
    formatMDXBadge: ({ text }: { text: unknown }) => `(${String(text)})`,
    formatMDXAdmonition: ({ text }: { text?: string | null }) =>
      `\n\n> **Deprecated.** ${(text ?? '').trim()}\n\n`,
    formatMDXSpecifiedByLink: (url: string) => `[Specification](${url})`,
  };
  // The library declares its own branded type for Markdown, which is a string.
  return plain as unknown as Formatter;
}
