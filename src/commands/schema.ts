import { readFileSync, writeFileSync } from 'node:fs';
import { format, parse } from 'node:path';
import { getDirective, MapperKind, mapSchema, pruneSchema } from '@graphql-tools/utils';
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges as findBreaks,
  findDangerousChanges,
  type GraphQLSchema,
} from 'graphql';
import { ConfigError, readConfig } from '../config/config.js';
import { AS_JSON, EXIT_WRONG_USE, printErrors } from '../process.js';
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
  const { dir, name } = parse(config?.modelFile ?? 'schema');
  const file = against ?? format({ dir, name, ext: '.graphql' });
  // The file that is compared with would be lost if it were written first.
  const breakingChanges =
    check === true ? findBreakingChanges(readReleased(file), buildSchema(schema)) : undefined;
  const isCompatible = breakingChanges === undefined || breakingChanges.length === 0;
  if (isCompatible && write === true) writeFileSync(file, schema);
  if (!isCompatible) process.exitCode = EXIT_WRONG_USE;
  if (AS_JSON) console.log(JSON.stringify({ schema, breakingChanges }));
  else if (!isCompatible)
    printErrors(
      [...breakingChanges, `These changes break clients of ${file}`],
      'Keep what it has, and add new fields beside it',
    );
  else if (check !== true && write !== true) process.stdout.write(schema);
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

/** What the directives of each field say, by `Type.field`. */
function accessIn(schema: GraphQLSchema) {
  const access = new Map<string, { scopes: readonly string[]; audience: unknown }>();
  mapSchema(schema, {
    [MapperKind.FIELD]: (field, name, type) => {
      const [{ scopes = [] } = {}] = getDirective(schema, field, 'access') ?? [];
      const [{ audience } = {}] = getDirective(schema, field, 'visibleTo') ?? [];
      access.set(`${type}.${name}`, { scopes: scopes as readonly string[], audience });
      return undefined;
    },
  });
  return access;
}
