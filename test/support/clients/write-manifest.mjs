// Writes the manifest of persisted documents as GraphQL Code Generator does: node write-manifest.mjs MANIFEST ALGORITHM DOCUMENT…
import { readFileSync, writeFileSync } from 'node:fs';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildSchema, parse } from 'graphql';

const [manifest, hashAlgorithm, ...texts] = process.argv.slice(2);
const sdl = readFileSync('schema.graphql', 'utf8');
const outputs = await preset.buildGeneratesSection({
  baseOutputDir: 'generated/',
  schema: parse(sdl),
  schemaAst: buildSchema(sdl),
  documents: texts.map((rawSDL, index) => ({
    location: `${index}.graphql`,
    document: parse(rawSDL),
    rawSDL,
  })),
  config: {},
  presetConfig: { persistedDocuments: { hashAlgorithm } },
  pluginMap: {},
  plugins: [],
  pluginContext: {},
});
// The other outputs are the types; the documents are known after they are written.
const written = await Promise.all(outputs.map(async (output) => [output.filename, await codegen(output)]));
const [, text] = written.find(([filename]) => filename.endsWith('persisted-documents.json'));
writeFileSync(manifest, text);
