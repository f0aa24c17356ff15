import { readConfigWithoutModel } from '../config/config.js';
import { describeModel } from '../config/model/build-mapping.js';
import { modelJsonSchema } from '../config/model/model.schema.js';
import { AS_JSON } from '../process.js';
import { entriesRead, readRecognizedConfig, withProgress } from './context.js';
import { suggestFor } from './suggest/suggest-model.js';

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

/** A proposal is made where there is no model, or while it is being written. */
async function proposeModel() {
  const { directory } = readConfigWithoutModel();
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
