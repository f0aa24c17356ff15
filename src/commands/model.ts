import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { readConfig } from '../config/config.js';
import { describeModel } from '../config/model/build-mapping.js';
import { modelJsonSchema } from '../config/model/model.schema.js';
import { AS_JSON, EXIT_FAILED } from '../process.js';
import { entriesRead, readRecognizedConfig, withProgress } from './context.js';
import { suggestFor } from './suggest/suggest-model.js';

const MODEL_FILE = 'model.yaml';

interface ModelOptions {
  suggest?: true;
  jsonSchema?: true;
}

export async function printModel({ jsonSchema, suggest }: ModelOptions): Promise<void> {
  if (jsonSchema === true) {
    console.log(JSON.stringify(modelJsonSchema(), null, 2));
    return;
  }
  const { file, model } = await (suggest === true ? proposeModel() : readEffectiveModel());
  process.stdout.write(AS_JSON ? `${JSON.stringify({ file, model })}\n` : model);
}

/** Proposes a model file for the directory of the settings, and writes it if the operator agrees. */
export async function agreeOnModel(): Promise<void> {
  if (process.env['DIRECTORY_MODEL'] !== undefined) return;
  if (!existsSync(MODEL_FILE)) {
    const { model } = await proposeModel();
    console.error(model);
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    const answer = await terminal.question(`Write ${MODEL_FILE}, and serve? [y/N] `);
    terminal.close();
    if (!/^y(es)?$/i.test(answer)) process.exit(EXIT_FAILED);
    writeFileSync(MODEL_FILE, model, { flag: 'wx' });
  }
  process.env['DIRECTORY_MODEL'] = MODEL_FILE;
}

/** A proposal is made where there is no model, or while it is being written. */
async function proposeModel() {
  const { directory } = readConfig({ ...process.env, DIRECTORY_MODEL: '' });
  return withProgress(async (show) => {
    const progress = (entries: number) => {
      show(`Reading a part of the directory: ${entriesRead(entries)}`);
    };
    return { file: null, model: await suggestFor(directory, progress) };
  });
}

/** @throws ConfigError if the model does not go with the server */
async function readEffectiveModel() {
  const { model, modelFile, directory } = await readRecognizedConfig();
  return { file: modelFile, model: describeModel({ ...model, server: directory.server }) };
}
