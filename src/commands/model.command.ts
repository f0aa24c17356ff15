import type { Command } from 'commander';
import { type Config, configFor, readConfig, readConfigWithoutModel } from '../config/config.js';
import { describeModel } from '../config/model/describe-model.js';
import { modelJsonSchema } from '../config/model/model.schema.js';
import type { PresetName } from '../config/model/presets/presets.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import { addCommand } from './help.js';
import { entriesRead, withProgress } from './progress.js';
import { readKind } from './recognized-config.js';

interface ModelOptions {
  suggest?: true;
  jsonSchema?: true;
  json?: true;
}

async function suggestFrom(directory: DirectoryConfig): Promise<string> {
  const { suggestFor } = await import('./suggest/suggest-model.js');
  return withProgress((show) => {
    const progress = (entries: number) => {
      show(`Reading a part of the directory: ${entriesRead(entries)}`);
    };
    return suggestFor(directory, progress, new AbortController().signal);
  });
}

/** @throws ConfigError if the model does not go with the server */
async function readUsableKind(config: Config): Promise<PresetName | null> {
  const kind = await readKind(config);
  if (kind !== null) configFor(config, kind);
  return kind;
}

export function addModelCommand(program: Command): void {
  addCommand(
    program,
    'model',
    'print the model of the directory: what is read, and where each value comes from',
    ['model', 'Print the effective model, with the defaults of the preset'],
    ['model --suggest > model.yaml', 'Propose a model file for the directory of the settings'],
    ['model --json-schema > model.schema.json', 'Write the schema for an editor'],
  )
    .option('--json-schema', 'print the JSON Schema of the model file, for editors')
    .option('--suggest', 'propose a model file from 200 users and 200 groups of the directory')
    .action(async ({ jsonSchema, suggest, json }: ModelOptions) => {
      if (jsonSchema === true) {
        console.log(JSON.stringify(modelJsonSchema(), null, 2));
        return;
      }
      // A proposal is made where there is no model, or while it is being written.
      const config = suggest === true ? readConfigWithoutModel() : readConfig();
      const file = suggest === true ? null : config.modelFile;
      const text =
        suggest === true
          ? await suggestFrom(config.directory)
          : describeModel(file, await readUsableKind(config));
      if (json === true) console.log(JSON.stringify({ file, model: text }));
      else process.stdout.write(text);
    });
}
