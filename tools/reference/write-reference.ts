import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Schema from '../../src/schema.js';
import { readExamples } from './example.js';
import { renderReferencePage } from './layout.js';
import { buildPages } from './pages.js';
import { REFERENCE_STYLE } from './style.js';

const DIRECTORY = 'dist/reference-pages';
/** The compiled schema, because compiling all of `src/` again would take seconds. */
const SCHEMA = pathToFileURL('dist/schema.js').href;

/**
 * Writes the reference as files: `{page}.html`, `errors-alone.html` for services that do not disclose the
 * schema, and the assets in `assets/{hash}/`, which never change under their name.
 */
async function writeReference(): Promise<void> {
  const { buildServedSchema } = (await import(SCHEMA)) as typeof Schema;
  const pages = await buildPages({
    schema: await buildServedSchema(),
    examples: readExamples('tools/reference/examples'),
    errors: readFileSync('docs/http.md', 'utf8'),
    introduction: readFileSync('tools/reference/introduction.md', 'utf8'),
  });
  const files: Record<string, string> = {
    'style.css': REFERENCE_STYLE,
    'search.mjs': readFileSync('tools/reference/search.mjs', 'utf8'),
    'minisearch.js': readFileSync(findMiniSearch(), 'utf8'),
    'entries.json': JSON.stringify(pages.flatMap(({ entries }) => entries)),
  };
  const assets = `assets/${hashOf(files)}`;
  // Replaces the whole directory at once, because a running service may read it.
  const draft = `${DIRECTORY}-draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(join(draft, assets), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(draft, assets, file), text);
  for (const page of pages) {
    const html = renderReferencePage(page, { assets, isWhole: true });
    writeFileSync(join(draft, `${page.name === '' ? 'index' : page.name}.html`), html);
    if (page.name !== 'errors') continue;
    const alone = renderReferencePage(page, { assets, isWhole: false });
    writeFileSync(join(draft, 'errors-alone.html'), alone);
  }
  rmSync(DIRECTORY, { recursive: true, force: true });
  renameSync(draft, DIRECTORY);
}

/** Finds the browser module of MiniSearch. For Node.js, the package exports only its module for Node.js. */
function findMiniSearch(): string {
  const main = createRequire(import.meta.url).resolve('minisearch');
  return join(dirname(main), '../es/index.js');
}

function hashOf(files: Readonly<Record<string, string>>): string {
  const hash = createHash('sha256');
  for (const [name, text] of Object.entries(files)) hash.update(`${name}\n${text}\n`);
  return hash.digest('hex').slice(0, 16);
}

await writeReference();
