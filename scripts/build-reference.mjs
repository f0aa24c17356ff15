// Bundles the generator of the reference into dist/reference-generator, and writes the pages of the built-in schema into
// dist/reference-pages: `npm run compile:reference`.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'vite';

const GENERATOR = 'dist/reference-generator';
const PAGES = 'dist/reference-pages';

await build({
  configFile: false,
  publicDir: false,
  logLevel: 'warn',
  // The service has no packages of the build. GraphQL-Markdown loads Prettier only to format Markdown, which the pages do not need.
  ssr: { noExternal: true, external: ['prettier'] },
  build: {
    ssr: 'tools/reference/main.ts',
    outDir: GENERATOR,
    target: 'node20',
    minify: true,
    license: { fileName: 'licenses.md' },
    reportCompressedSize: false,
    rolldownOptions: { output: { entryFileNames: 'main.mjs' } },
  },
});
const { readSources, renderReference } = await import('../dist/reference-generator/main.mjs');
const { buildServedSchema } = await import('../dist/schema.js');
const { describeSchema } = await import('../dist/reference/described-schema.js');
const { BUILT_IN_SCOPES } = await import('../dist/config/scopes.js');

const sources = readSources();
writeFileSync(join(GENERATOR, 'sources.json'), JSON.stringify(sources));
const files = await renderReference(describeSchema(await buildServedSchema(), BUILT_IN_SCOPES), sources);
// Replaces the whole directory at once, because a running service may read it.
const draft = `${PAGES}-draft`;
rmSync(draft, { recursive: true, force: true });
for (const [file, text] of Object.entries(files)) {
  const path = join(draft, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
rmSync(PAGES, { recursive: true, force: true });
renameSync(draft, PAGES);
