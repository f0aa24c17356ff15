import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseHttpUrl } from '../common/url.js';

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

export const text = z.string().trim();

export const wholeNumber = (minimum: number, maximum: number) =>
  text
    .transform((value) => (/^\d{1,9}$/.test(value) ? Number(value) : Number.NaN))
    .refine((value) => value >= minimum && value <= maximum, {
      error: `must be a whole number from ${minimum} to ${maximum}`,
    });

export const integer = (minimum: number, maximum: number, otherwise: number) =>
  wholeNumber(minimum, maximum).default(otherwise);

export const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  text.pipe(z.enum(names, { error: `must be ${names.slice(0, -1).join(', ')} or ${String(names.at(-1))}` }));

export const trueOrFalse = text
  .toLowerCase()
  .pipe(oneOf(['true', 'false']))
  .transform((value) => value === 'true');

export const yesOrNo = trueOrFalse.default(false);

export const list = text.transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export const httpUrl = text.refine(isPlainHttpUrl, {
  error: 'must be an http or https URL without query, fragment or password',
});

/** Rejects user information, because the URL appears in logs and responses. */
function isPlainHttpUrl(value: string): boolean {
  const url = parseHttpUrl(value);
  return url !== null && url.username === '' && url.password === '' && !/[?#]/.test(value);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM file. TLS ignores what it cannot parse, and would then trust no server. */
export const certificates = text.transform((file, context) => {
  try {
    const found = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
    if (found.length > 0 && found.every(isCertificate)) return found.join('\n');
    context.addIssue(`names a file without certificates in PEM, or with a damaged one: ${file}`);
  } catch {
    context.addIssue(`names a file that cannot be read: ${file}`);
  }
  return z.NEVER;
});

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== '';
  } catch {
    return false;
  }
}

/** The path of a file that can be read. */
export const readable = text.refine(
  (file) => {
    try {
      readFileSync(file);
      return true;
    } catch {
      return false;
    }
  },
  { error: 'names a file that cannot be read' },
);

/** Paths of default settings: files of the working directory, or else of this package, which has the database. */
export const SAMPLE_DIRECTORY = 'sample/directory.ldif';
export const SAMPLE_CLIENTS = 'sample/clients.json';
export const DEFAULT_DATABASE = '.data';

/** The model file of the sample directory. */
export const SAMPLE_MODEL = relative('', resolveDefault('sample/model.yaml'));

/** The absolute path of what a setting names. */
export function resolveFile(path: string): string {
  // The service and its commands use the same one in every working directory.
  if (path === DEFAULT_DATABASE) return packaged(path);
  const isDefault = [SAMPLE_DIRECTORY, SAMPLE_CLIENTS].includes(path);
  return isDefault ? resolveDefault(path) : resolve(path);
}

function packaged(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

function resolveDefault(path: string): string {
  return existsSync(path) || !existsSync(packaged(path)) ? resolve(path) : packaged(path);
}
