import type { z } from 'zod';

/** One environment variable: its schema, its description, and whether it is secret. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly description: string;
  /** A secret is never printed. NAME_FILE can name a file that contains it. */
  readonly secret?: true;
}

export function setting<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description };
}

export function secret<Schema extends z.ZodType>(schema: Schema, description: string): Setting<Schema> {
  return { schema, description, secret: true };
}

/** The values of settings: the output type of the schema of each. */
export type ValuesOf<Group extends Record<string, Setting>> = {
  readonly [Name in keyof Group]: z.output<Group[Name]['schema']>;
};
