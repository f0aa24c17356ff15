import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { type Command, Option } from 'commander';
import type { GraphQLSchema } from 'graphql';
import { ConfigError, readConfig } from '../config/config.js';
import { EXIT_FAILED, EXIT_WRONG_USE, printErrors } from '../failure.js';
import { addCommand } from './help.js';

const FILE = 'schema.graphql';

interface SchemaOptions {
  check?: true;
  against?: string;
  write?: true;
  builtIn?: true;
  json?: true;
}

/** The schema of the settings, as text. */
interface PrintedSchema {
  readonly schema: string;
  /** Null: the built-in model. */
  readonly modelFile: string | null;
  readonly file: string;
}

export function addSchemaCommand(program: Command): void {
  addCommand(
    program,
    'schema',
    'print the GraphQL schema',
    ['schema > schema.graphql', 'Print the schema, for a code generator'],
    ['schema --write', 'Record the schema of the model at a release'],
    ['schema --check', 'Compare it, in continuous integration'],
  )
    .option('--check', `fail if it breaks clients; built-in: if ${FILE} differs`)
    .addOption(
      new Option('--against <file>', 'fail if it breaks clients of the schema in the file')
        .implies({ check: true })
        .conflicts('write'),
    )
    .option('--write', `write ${FILE}, or with a model file the file beside it`)
    .option('--built-in', 'ignore the settings and their model file')
    .action(runSchema);
}

async function runSchema(options: SchemaOptions): Promise<void> {
  const printed = await printSchema(options);
  const { against, check, write, json } = options;
  const isCompared = check === true && (against !== undefined || printed.modelFile !== null);
  // The file that is compared with would be lost if it were written first.
  if (isCompared && !(await compare(printed, against ?? printed.file, json))) return;
  if (write === true) writeFileSync(printed.file, printed.schema);
  if (isCompared) return;
  if (check === true) checkFile(printed, json);
  else if (json === true) console.log(JSON.stringify({ schema: printed.schema }));
  else if (write !== true) process.stdout.write(printed.schema);
}

async function printSchema({ builtIn }: SchemaOptions): Promise<PrintedSchema> {
  const { buildSdl } = await import('../schema.js');
  const config = builtIn === true ? undefined : readConfig();
  const modelFile = config?.modelFile ?? null;
  const file = modelFile === null ? FILE : schemaFileOf(modelFile);
  return { schema: await buildSdl(config), modelFile, file };
}

/** The file of the schema of a model: beside the model file, with the extension `.graphql`. */
function schemaFileOf(modelFile: string): string {
  const { dir, name } = parse(modelFile);
  return join(dir, `${name}.graphql`);
}

/** Reports the changes that break clients of the schema in a file. Returns whether there are none. */
async function compare({ schema }: PrintedSchema, against: string, json?: true): Promise<boolean> {
  const [{ buildSchema }, { findBreakingChanges }] = await Promise.all([
    import('graphql'),
    import('./breaking-changes.js'),
  ]);
  const breakingChanges = findBreakingChanges(readReleased(against, buildSchema), buildSchema(schema));
  if (json === true) console.log(JSON.stringify({ schema, breakingChanges }));
  if (breakingChanges.length === 0) return true;
  if (json !== true)
    printErrors(
      [...breakingChanges, `These changes break clients of ${against}`],
      'Keep what it has, and add new fields beside it',
    );
  process.exitCode = EXIT_WRONG_USE;
  return false;
}

/** @throws ConfigError if the file has no schema */
function readReleased(file: string, build: (text: string) => GraphQLSchema): GraphQLSchema {
  if (!existsSync(file))
    throw new ConfigError([
      `${file} does not exist. «directory schema --write» records the schema of a model`,
    ]);
  const text = readFileSync(file, 'utf8');
  try {
    return build(text);
  } catch {
    throw new ConfigError([`${file} contains no valid GraphQL schema`]);
  }
}

/** Reports that the built-in schema is not the one in the file. */
function checkFile({ schema, file }: PrintedSchema, json?: true): void {
  const isCurrent = readFileSync(file, 'utf8') === schema;
  if (json === true) console.log(JSON.stringify({ schema, isCurrent }));
  if (isCurrent) return;
  if (json !== true) printErrors([`${file} is not the schema of the code`], 'npm run schema writes it');
  process.exitCode = EXIT_FAILED;
}
