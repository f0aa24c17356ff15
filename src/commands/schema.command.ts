import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT_FAILED } from '../start/failure.js';

const FILE = 'schema.graphql';

export function addSchemaCommand(program: Command): void {
  program
    .command('schema')
    .description('print the GraphQL schema')
    .option('--check', `fail when ${FILE} is not the schema of the code`)
    .option('--write', `write it to ${FILE}`)
    .action(async ({ check, write }: { check?: true; write?: true }) => {
      const { buildSdl } = await import('../schema.js');
      const sdl = await buildSdl();
      if (write === true) writeFileSync(FILE, sdl);
      else if (check !== true) process.stdout.write(sdl);
      if (check === true && readFileSync(FILE, 'utf8') !== sdl) {
        console.error(`${FILE} is not the schema of the code: npm run schema writes it anew`);
        process.exitCode = EXIT_FAILED;
      }
    });
}
