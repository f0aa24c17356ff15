import { createHash } from 'node:crypto';
import type { DescribedSchema } from '../../src/reference/described-schema.js';
import { renderReferencePage } from './layout.js';
import { buildPages } from './pages.js';
import type { Sources } from './sources.js';
import { REFERENCE_STYLE } from './style.js';

/**
 * Renders the reference of a schema.
 * @returns the files by path: `{page}.html`, `errors-alone.html` for services that do not disclose the schema, and the assets
 * in `assets/{hash}/`, which never change under their name
 */
export async function renderReference(
  schema: DescribedSchema,
  sources: Sources,
): Promise<Record<string, string>> {
  const pages = await buildPages(schema, sources);
  const assets: Record<string, string> = {
    ...sources.scripts,
    'style.css': REFERENCE_STYLE,
    'entries.json': JSON.stringify(pages.flatMap(({ entries }) => entries)),
  };
  const folder = `assets/${hashOf(assets)}`;
  const html = pages.flatMap((page) => [
    [
      `${page.name === '' ? 'index' : page.name}.html`,
      renderReferencePage(page, { assets: folder, isWhole: true }),
    ],
    ...(page.name === 'errors'
      ? [['errors-alone.html', renderReferencePage(page, { assets: folder, isWhole: false })]]
      : []),
  ]);
  const files = Object.entries(assets).map(([name, text]) => [`${folder}/${name}`, text]);
  return Object.fromEntries([...html, ...files]) as Record<string, string>;
}

function hashOf(files: Readonly<Record<string, string>>): string {
  const hash = createHash('sha256');
  for (const [name, text] of Object.entries(files)) hash.update(`${name}\n${text}\n`);
  return hash.digest('hex').slice(0, 16);
}
