// Writes the types of the page's operations: node generate.mjs [--check]
//
// --check writes nothing and fails if the committed types are out of date.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildSchema, parse } from 'graphql';

const here = import.meta.dirname;
const sdl = readFileSync(join(here, '../../schema.graphql'), 'utf8');
const documents = readFileSync(join(here, 'src/operations.graphql'), 'utf8');

const outputs = await preset.buildGeneratesSection({
  baseOutputDir: 'src/graphql/',
  schema: parse(sdl),
  schemaAst: buildSchema(sdl),
  documents: [{ location: 'src/operations.graphql', document: parse(documents), rawSDL: documents }],
  config: {
    enumsAsTypes: true,
    useTypeImports: true,
    scalars: { DateTime: 'string', URL: 'string' },
  },
  presetConfig: { fragmentMasking: false },
  pluginMap: {},
  plugins: [],
  pluginContext: {},
});

let isFresh = true;
// Of the output of the preset, only the types and documents of the operations are needed.
for (const output of outputs.filter(({ filename }) => filename.endsWith('/graphql.ts'))) {
  const path = join(here, output.filename);
  const text = await codegen(output);
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${output.filename} is out of date: run npm run generate in examples/club-page`);
    isFresh = false;
  }
}
process.exitCode = isFresh ? 0 : 1;
