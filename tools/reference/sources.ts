import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type ReferenceExample, readExamples } from './example.js';

/** Sources of the pages besides the schema. The build stores them, because an installed service has no files of the repository. */
export interface Sources {
  readonly examples: readonly ReferenceExample[];
  /** docs/http.md: its chapters from `## Errors` on are the page of errors. */
  readonly errors: string;
  /** The introduction of the reference, in Markdown. */
  readonly introduction: string;
  /** Scripts of the pages by name. */
  readonly scripts: Readonly<Record<string, string>>;
}

/** Reads the sources in the root of the repository. */
export function readSources(): Sources {
  return {
    examples: [...readExamples('tools/reference/examples').values()],
    errors: readFileSync('docs/http.md', 'utf8'),
    introduction: readFileSync('tools/reference/introduction.md', 'utf8'),
    scripts: {
      'page.mjs': readFileSync('tools/reference/page.mjs', 'utf8'),
      'search.mjs': readFileSync('tools/reference/search.mjs', 'utf8'),
      'minisearch.js': readFileSync(findMiniSearch(), 'utf8'),
    },
  };
}

/** Finds the browser module of MiniSearch. For Node.js, the package exports only its module for Node.js. */
function findMiniSearch(): string {
  const main = createRequire(join(process.cwd(), 'package.json')).resolve('minisearch');
  return join(dirname(main), '../es/index.js');
}
