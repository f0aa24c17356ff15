import { readFileSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges as findBreaks,
  findDangerousChanges,
  getDirectiveValues,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLSchema,
} from 'graphql';
import { ConfigError, readConfig } from '../config/config.js';
import { AS_JSON, EXIT_FAILED, EXIT_WRONG_USE, printErrors } from '../process.js';
import { buildSdl } from '../schema.js';

interface SchemaOptions {
  check?: true;
  against?: string;
  write?: true;
  builtIn?: true;
}

export async function runSchema({ builtIn, check, against, write }: SchemaOptions): Promise<void> {
  const config = builtIn === true ? undefined : readConfig();
  const schema = await buildSdl(config);
  const modelFile = config?.modelFile ?? null;
  const file = modelFile === null ? 'schema.graphql' : graphqlBeside(modelFile);
  const isCompared = check === true && (against !== undefined || modelFile !== null);
  // The file that is compared with would be lost if it were written first.
  if (isCompared && !compare(schema, against ?? file)) return;
  if (write === true) writeFileSync(file, schema);
  if (isCompared) return;
  if (check === true) checkFile(schema, file);
  else if (AS_JSON) console.log(JSON.stringify({ schema }));
  else if (write !== true) process.stdout.write(schema);
}

function graphqlBeside(modelFile: string): string {
  const { dir, name } = parse(modelFile);
  return join(dir, `${name}.graphql`);
}

/** Reports the changes that break clients of the schema in a file. Returns whether there are none. */
function compare(schema: string, file: string): boolean {
  const breakingChanges = findBreakingChanges(readReleased(file), buildSchema(schema));
  const isCompatible = breakingChanges.length === 0;
  if (AS_JSON) console.log(JSON.stringify({ schema, breakingChanges }));
  else if (!isCompatible)
    printErrors(
      [...breakingChanges, `These changes break clients of ${file}`],
      'Keep what it has, and add new fields beside it',
    );
  if (!isCompatible) process.exitCode = EXIT_WRONG_USE;
  return isCompatible;
}

/** @throws ConfigError if the file has no schema */
function readReleased(file: string): GraphQLSchema {
  try {
    return buildSchema(readFileSync(file, 'utf8'));
  } catch {
    const hint = '«directory schema --write» records the schema of a model';
    throw new ConfigError([`${file} does not exist, or has no valid GraphQL schema. ${hint}`]);
  }
}

/** Reports that the built-in schema is not the one in the file. */
function checkFile(schema: string, file: string): void {
  const isCurrent = readFileSync(file, 'utf8') === schema;
  if (AS_JSON) console.log(JSON.stringify({ schema, isCurrent }));
  else if (!isCurrent) printErrors([`${file} is not the schema of the code`], 'npm run schema writes it');
  if (!isCurrent) process.exitCode = EXIT_FAILED;
}

/** Describes the changes that break clients of the released schema. What is deprecated in it may be removed. */
export function findBreakingChanges(released: GraphQLSchema, current: GraphQLSchema): string[] {
  const before = withoutDeprecated(released);
  // No document contains a directive of the schema, such as `@visibleTo`. A field that used a standard scalar is removed, too.
  const breaks = findBreaks(before, current).filter(
    ({ type, description }) => !type.includes('DIRECTIVE') && !description.startsWith('Standard scalar'),
  );
  const defaults = findDangerousChanges(before, current).filter(
    ({ type }) => type === DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE,
  );
  const descriptions = [...breaks, ...defaults].map(({ description }) => description);
  return [...descriptions, ...findNarrowedAccess(released, current)];
}

/** The schema without its deprecated elements, and without types that only they use. */
function withoutDeprecated(released: GraphQLSchema): GraphQLSchema {
  const keep = ({ deprecationReason }: { deprecationReason?: string | null | undefined }) =>
    typeof deprecationReason === 'string' ? null : undefined;
  return pruneSchema(
    mapSchema(released, {
      [MapperKind.FIELD]: keep,
      [MapperKind.ARGUMENT]: keep,
      [MapperKind.ENUM_VALUE]: keep,
    }),
  );
}

/** The audiences of fields, each within the one before it. */
const AUDIENCES: readonly unknown[] = [undefined, 'groupAdmins', 'self'];

/** Finds fields, and members of inputs, that need another scope, or that fewer viewers see. graphql-js does not compare directives. */
function findNarrowedAccess(released: GraphQLSchema, current: GraphQLSchema): string[] {
  const before = accessIn(released);
  return [...accessIn(current)].flatMap(([what, { scopes, audience }]) => {
    const former = before.get(what);
    if (former === undefined) return [];
    const added = scopes.filter((scope) => !former.scopes.includes(scope)).map((scope) => `'${scope}'`);
    // A schema without the directive says nothing about scopes.
    const isKnown = released.getDirective('access') !== undefined;
    return [
      ...(isKnown && added.length > 0 ? [`${what} needs the scope ${added.join(' and ')}`] : []),
      ...(AUDIENCES.indexOf(audience) > AUDIENCES.indexOf(former.audience)
        ? [`${what} is visible only to '${String(audience)}'`]
        : []),
    ];
  });
}

type AnyField = Pick<GraphQLField<unknown, unknown> | GraphQLInputField, 'astNode'>;

/** What the directives of each field say, by `Type.field`. */
function accessIn(schema: GraphQLSchema) {
  const access = new Map<string, { scopes: readonly string[]; audience: unknown }>();
  const valuesOf = (name: string, { astNode }: AnyField) => {
    const directive = schema.getDirective(name);
    return directive && astNode ? getDirectiveValues(directive, astNode) : undefined;
  };
  for (const type of Object.values(schema.getTypeMap())) {
    const fields: Readonly<Record<string, AnyField>> = 'getFields' in type ? type.getFields() : {};
    for (const [name, field] of Object.entries(fields)) {
      const scopes = (valuesOf('access', field)?.['scopes'] ?? []) as readonly string[];
      access.set(`${type.name}.${name}`, { scopes, audience: valuesOf('visibleTo', field)?.['audience'] });
    }
  }
  return access;
}
