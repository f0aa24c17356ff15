import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT_FAILED } from '../start/failure.js';
import { addExamples } from './help.js';

const FILE = 'schema.graphql';

interface SchemaOptions {
  check?: true;
  write?: true;
  json?: true;
}

export function addSchemaCommand(program: Command): void {
  const command = program
    .command('schema')
    .description('print the GraphQL schema')
    .option('--check', `fail if ${FILE} is not the schema of the code`)
    .option('--write', `write it to ${FILE}`)
    .option('--json', 'print one JSON object')
    .action(async ({ check, write, json }: SchemaOptions) => {
      const { buildSdl } = await import('../schema.js');
      const schema = await buildSdl();
      if (write === true) writeFileSync(FILE, schema);
      const isCurrent = check !== true || readFileSync(FILE, 'utf8') === schema;
      if (json === true) console.log(JSON.stringify(check === true ? { schema, isCurrent } : { schema }));
      else if (write !== true && check !== true) process.stdout.write(schema);
      if (isCurrent) return;
      if (json !== true)
        console.error(`${FILE} is not the schema of the code. Run npm run schema to update it`);
      process.exitCode = EXIT_FAILED;
    });
  addExamples(
    command,
    ['schema > schema.graphql', 'Print the schema, for a code generator'],
    ['schema --check', 'Compare it, in continuous integration'],
  );
}
