import type { z } from 'zod';

/** One environment variable: how its text is read, what it means, and whether its value may be shown. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly description: string;
  /** A secret is never printed and can be given as a file by NAME_FILE. */
  readonly secret?: true;
  /** An empty variable is a value of its own. Of other settings it means that the variable is not set. */
  readonly emptyIsValue?: true;
}

export function setting<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description };
}

export function secret<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description, secret: true };
}

/** A setting whose empty text has a meaning other than its default. */
export function settingOrEmpty<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): Setting<Schema> {
  return { schema, description, emptyIsValue: true };
}

/** What settings come to: of each what its schema makes of its text. */
export type ValuesOf<Group extends Record<string, Setting>> = {
  readonly [Name in keyof Group]: z.output<Group[Name]['schema']>;
};
