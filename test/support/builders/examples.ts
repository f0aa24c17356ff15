import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ReferenceExample, readExamples } from '../../../tools/reference/example.js';
import { ServiceAccountsService } from '../../../src/service-accounts/service-accounts.service.js';
import type { TestService } from '../servers/service.js';

const DIRECTORY = join(__dirname, '../../../tools/reference/examples');

/** The examples of the reference. */
export const REFERENCE_EXAMPLES = [...readExamples(DIRECTORY).values()];

/** Authorization headers of the examples. */
export interface Principals {
  readonly application: Record<string, string>;
  readonly 'service account': Record<string, string>;
}

export async function makeAskers(service: TestService): Promise<Principals> {
  const { token } = await service.app.get(ServiceAccountsService).create({
    id: 'reports',
    name: 'Reports',
    description: null,
    scopes: ['read', 'directory', 'write'],
    expiresAt: null,
  });
  return {
    application: { authorization: await service.accessToken('profile read write') },
    'service account': { authorization: `Basic ${token}` },
  };
}

/** Values that differ between services, by field name: only their format is compared. */
const VARYING = /^(at|asOf|basedOn|updatedAt|expiresAt|commit|endCursor|photo|remaining|requestsRemaining)$/;

/** Replaces all values that may differ between two runs by placeholders. */
export function steady(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (name, value: unknown) =>
    VARYING.test(name) ? formOf(value) : value,
  );
}

function formOf(value: unknown): unknown {
  if (typeof value === 'number') return 'a number';
  if (typeof value !== 'string') return 'nothing or something';
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return 'an instant';
  const signed = /^https?:\/\/[^/]+(\/[^?]+)\?expires=\d{10}&signature=[0-9a-f]{64}(&size=\d+)?$/.exec(value);
  if (signed !== null) return signed[1];
  if (/^[0-9a-f]{40}$/.test(value)) return 'nothing or something';
  return /^[\w-]{20,}$/.test(value) ? 'a cursor' : value;
}

/** Writes the response as the new expected one (WRITE_EXAMPLES=1, after an intended change). */
export function writeAnswer(
  { name }: ReferenceExample,
  answer: unknown,
  { baseUrl }: { baseUrl: string },
): void {
  const file = join(DIRECTORY, `${name}.json`);
  const shown = { ...(JSON.parse(readFileSync(file, 'utf8')) as object), answer };
  const text = JSON.stringify(shown, null, 2).replaceAll(baseUrl, 'http://127.0.0.1:3000');
  writeFileSync(file, `${text}\n`);
}
