import { readFileSync } from 'node:fs';
import { type Change, ChangeType } from '@graphql-inspector/core';
import {
  buildSchema,
  getNamedType,
  type GraphQLSchema,
  type GraphQLType,
  isInputObjectType,
  isObjectType,
} from 'graphql';
import { ConfigError } from '../config/config.js';
import { type Model, isCustom } from '../config/model/model.schema.js';
import { readModel } from '../config/model/read-model.js';
import type { Path } from '../config/model/yaml-file.js';
import { findBreakingChanges } from './breaking-changes.js';

/**
 * Compares a schema with the one in a file, and describes each change that breaks clients. A change that the model file
 * causes begins with FILE:LINE:COLUMN.
 * @param modelFile null: the built-in model
 * @throws ConfigError if the file has no schema
 */
export async function describeBreakingChanges(
  sdl: string,
  against: string,
  modelFile: string | null,
): Promise<string[]> {
  const released = readReleased(against);
  const changes = await findBreakingChanges(released, buildSchema(sdl));
  const locate = modelFile === null ? () => '' : locatorOf(modelFile, released);
  return changes.map((change) => `${locate(change)}${change.message}`);
}

function readReleased(file: string): GraphQLSchema {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const cause = isMissing ? 'does not exist' : 'cannot be read';
    throw new ConfigError([`${file} ${cause}. «directory schema --write» records the schema of a model`]);
  }
  try {
    return buildSchema(text);
  } catch {
    throw new ConfigError([`${file} contains no valid GraphQL schema`]);
  }
}

/** Returns a function that locates the cause of a change: the text before its message. */
function locatorOf(file: string, released: GraphQLSchema): (change: Change) => string {
  const { model, yaml } = readModel(file);
  return (change) => {
    const path = causeOf(change, model, released);
    if (yaml === null || path === null) return '';
    const { line, column } = yaml.placeOfKey(path);
    return `${file}:${line}:${column}: `;
  };
}

/** A type is removed with its last field, such as the connection of a reverse reference in previews. */
const REMOVALS: ReadonlySet<unknown> = new Set([
  ChangeType.FieldRemoved,
  ChangeType.InputFieldRemoved,
  ChangeType.TypeRemoved,
]);

/** The path in the model file of what causes a change. Null: nothing in the file does. */
function causeOf({ path = '', type: change }: Change, model: Model, released: GraphQLSchema): Path | null {
  const [type = '', name = ''] = path.split('.');
  const kind = kindOf(type) ?? kindOfUse(type, released);
  if (kind === null) return null;
  const field = model[kind]?.fields?.[name];
  if (field !== undefined) return isCustom(field) ? [kind, 'fields', name] : null;
  return reversePathOf(kind, name, model) ?? (REMOVALS.has(change) ? [kind, 'fields'] : null);
}

/** Users or groups whose fields a type has, such as `User`, `UserFilter`, `Person` and `UpdateGroupInput`. */
function kindOf(type: string): 'users' | 'groups' | null {
  const [, subject] = /^(?:Create|Update)?(Group|Person|Profile|User)/.exec(type) ?? [];
  if (subject === undefined) return null;
  return subject === 'Group' ? 'groups' : 'users';
}

/** Users or groups whose fields, or filters by them, have a type in the released schema, such as `BooleanFilter`. */
function kindOfUse(name: string, released: GraphQLSchema): 'users' | 'groups' | null {
  for (const type of Object.values(released.getTypeMap())) {
    if (!isInputObjectType(type) && !isObjectType(type)) continue;
    const fields: readonly { type: GraphQLType }[] = Object.values(type.getFields());
    const isUse = fields.some((field) => getNamedType(field.type).name === name);
    const kind = isUse ? kindOf(type.name) : null;
    if (kind !== null) return kind;
  }
  return null;
}

function reversePathOf(kind: 'users' | 'groups', name: string, model: Model): Path | null {
  const target = kind === 'users' ? 'User' : 'Group';
  for (const origin of ['users', 'groups'] as const) {
    for (const [field, own] of Object.entries(model[origin]?.fields ?? {})) {
      if (isCustom(own) && own.reverse === name && own.type.includes(target))
        return [origin, 'fields', field, 'reverse'];
    }
  }
  return null;
}
