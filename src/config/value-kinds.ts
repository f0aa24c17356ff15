import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseHttpUrl } from '../common/url.js';

// Schemas for values that settings of several subjects use.

export const text = z.string().trim();

export const wholeNumber = (minimum: number, maximum: number) =>
  text
    .regex(/^\d{1,9}$/, { error: `must be a whole number from ${minimum} to ${maximum}` })
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, {
      error: `must be a whole number from ${minimum} to ${maximum}`,
    });

export const integer = (minimum: number, maximum: number, otherwise: number) =>
  wholeNumber(minimum, maximum).default(otherwise);

export const trueOrFalse = text
  .toLowerCase()
  .refine((value) => value === 'true' || value === 'false', { error: 'must be true or false' })
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
