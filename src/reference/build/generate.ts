import { BeforeComposePageTypeEvent, Printer } from '@graphql-markdown/printer-legacy';
import type { GraphQLField, GraphQLNamedType, GraphQLSchema } from 'graphql';
import { accessDirective, annotateAccess } from './annotate.js';
import { type Example, exampleInMarkdown } from './example.js';
import { placeOfName } from './links.js';

type Formatter = NonNullable<Parameters<typeof Printer.init>[4]>;

/** What has a section: a type, or a field of a root type. */
export type Definition = GraphQLNamedType | GraphQLField<unknown, unknown>;

/** Sections of a definition, in their order; `directives` would say again what stands in its description. */
const SECTIONS = ['description', 'code', 'metadata', 'example', 'relations'];

/** Characters that mean something in MDX, as the generator writes them. */
const ESCAPED = /&#x(00[0-9A-F]{2});/g;

/** Makes Markdown of definitions by GraphQL-Markdown: signatures, members, arguments, and where they are used. */
export class Generator {
  private constructor(readonly schema: GraphQLSchema) {}

  /** One at a time: the printer keeps what it is set up with for the whole process. */
  static async start(schema: GraphQLSchema, examples: ReadonlyMap<string, Example>): Promise<Generator> {
    const annotated = annotateAccess(schema);
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
   * @param definition of the schema of the generator
   * @returns Markdown: its name is a heading of the first level, its sections are of the third, and their items below
   */
  async print(definition: Definition): Promise<string> {
    const markdown = await Printer.printType(definition.name, definition, { frontMatter: false });
    // What a block of code shows is said to those who do not see it.
    const labelled = (markdown ?? '').replace(
      '```graphql\n',
      `\`\`\`graphql Definition of ${definition.name}\n`,
    );
    return labelled.replace(ESCAPED, (_, code: string) => String.fromCodePoint(parseInt(code, 16)));
  }
}

/** Which sections there are, and the examples among them. */
function compose(event: unknown, examples: ReadonlyMap<string, Example>) {
  if (event instanceof BeforeComposePageTypeEvent) {
    const { name, sections } = event.data;
    const example = examples.get(name ?? '');
    if (example !== undefined) sections.example = { title: 'Example', content: exampleInMarkdown(example) };
    event.output = SECTIONS;
  }
  return Promise.resolve({ errors: [], defaultPrevented: false });
}

/** What the generator writes in plain Markdown, where it would write HTML for one of its frameworks. */
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
  // Its type of Markdown is of its own making, and a string.
  return plain as unknown as Formatter;
}
