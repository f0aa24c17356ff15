import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * Principal of an example: an application for its owner, or a service account. Null: the principal does not
 * matter.
 */
export const ASKERS = ['application', 'service account'] as const;

const answered = z.strictObject({
  as: z.enum(ASKERS).nullable(),
  variables: z.record(z.string(), z.unknown()),
  answer: z.record(z.string(), z.unknown()),
});

/** A working document, with the response for the sample directory. */
export interface ReferenceExample extends z.infer<typeof answered> {
  /** The root field that the example is about. */
  readonly name: string;
  /** Purpose of the example, in Markdown. */
  readonly purpose: string;
  readonly document: string;
}

/**
 * Reads the examples of a directory: `{field}.graphql` with its purpose in front, and `{field}.json` with the
 * rest.
 */
export function readExamples(directory: string): Map<string, ReferenceExample> {
  const names = readdirSync(directory)
    .filter((file) => file.endsWith('.graphql'))
    .map((file) => file.slice(0, -'.graphql'.length));
  return new Map(names.sort().map((name) => [name, readExample(directory, name)]));
}

function readExample(directory: string, name: string): ReferenceExample {
  const text = readFileSync(join(directory, `${name}.graphql`), 'utf8');
  const [, purpose = '', document = ''] = /^# (.+)\n([^#]*)$/.exec(text) ?? [];
  const rest = answered.parse(JSON.parse(readFileSync(join(directory, `${name}.json`), 'utf8')));
  return { name, purpose, document: document.trim(), ...rest };
}

/** Formats an example in Markdown: the document, its variables, and the response for the sample directory. */
export function exampleInMarkdown({
  name,
  purpose,
  document,
  variables,
  answer,
  as,
}: ReferenceExample): string {
  const asker = as === 'application' ? 'an application, for Ada Martin' : 'a service account';
  const given =
    Object.keys(variables).length === 0 ? [] : ['With these variables:', block('Variables', variables)];
  return [
    `${purpose}${as === null ? '' : ` Asked by ${asker}.`}`,
    `\`\`\`graphql Example of ${name}\n${document}\n\`\`\``,
    ...given,
    'The answer:',
    block('Answer', { data: answer }),
  ].join('\n\n');

  function block(what: string, value: unknown): string {
    return `\`\`\`json ${what} of the example of ${name}\n${JSON.stringify(value, null, 2)}\n\`\`\``;
  }
}
