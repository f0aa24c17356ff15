// Writes the types of the page's operations: node generate.mjs [--check] [SCHEMA]
//
// SCHEMA is a URL, such as http://127.0.0.1:3000/graphql/v1/schema.graphql, or a file. By default it is the schema of the sample
// school with its model file. --check writes nothing and fails if the committed types are out of date.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildSchema, parse } from 'graphql';

const here = import.meta.dirname;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false } },
});
const [source] = positionals;
const sdl = source === undefined ? await buildSampleSchema() : await readSchema(source);
const documents = ['operations', 'model-fields'].map((name) => {
  const rawSDL = readFileSync(join(here, `src/${name}.graphql`), 'utf8');
  return { location: `src/${name}.graphql`, document: parse(rawSDL), rawSDL };
});

const outputs = await preset.buildGeneratesSection({
  baseOutputDir: 'src/graphql/',
  schema: parse(sdl),
  schemaAst: buildSchema(sdl),
  documents,
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
  if (!values.check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${output.filename} is out of date: run npm run generate in examples/club-page`);
    isFresh = false;
  }
}
process.exitCode = isFresh ? 0 : 1;

async function readSchema(source) {
  if (!/^https?:/.test(source)) return readFileSync(source, 'utf8');
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source}: HTTP ${response.status}`);
  return response.text();
}

/** The build of the service prints the schema, and finds the sample in the root of the repository. */
async function buildSampleSchema() {
  process.chdir(join(here, '../..'));
  const { readConfig } = await import('../../dist/config/config.js');
  const { buildSdl } = await import('../../dist/schema.js');
  return buildSdl(readConfig({}));
}
