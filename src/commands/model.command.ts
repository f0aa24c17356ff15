import type { Command } from 'commander';
import { readConfig } from '../config/config.js';
import { describeModel } from '../config/model/describe-model.js';
import { modelJsonSchema } from '../config/model/model.schema.js';
import { addExamples } from './help.js';
import { readKind } from './recognized-config.js';

interface ModelOptions {
  jsonSchema?: true;
  json?: true;
}

export function addModelCommand(program: Command): void {
  const command = program
    .command('model')
    .description('print the model of the directory: what is read, and where each value comes from')
    .option('--json-schema', 'print the JSON Schema of the model file, for editors')
    .option('--json', 'print one JSON object')
    .action(async ({ jsonSchema, json }: ModelOptions) => {
      if (jsonSchema === true) {
        console.log(JSON.stringify(modelJsonSchema(), null, 2));
        return;
      }
      const config = readConfig();
      const { modelFile } = config;
      const text = describeModel(modelFile, await readKind(config));
      if (json === true) console.log(JSON.stringify({ file: modelFile, model: text }));
      else process.stdout.write(text);
    });
  addExamples(
    command,
    ['model', 'Print the effective model, with the defaults of the preset'],
    ['model --json-schema > model.schema.json', 'Write the schema for an editor'],
  );
}
