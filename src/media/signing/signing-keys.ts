import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../../config/config.js';
import type { DirectoryDataSource } from '../../database/connections/data-source.js';

/** Injection token of the keys of signed URLs. */
export const SIGNING_KEYS = Symbol('SIGNING_KEYS');

export interface SigningKeys {
  /** The key that signs. */
  readonly signing: Buffer;
  /** The keys that verify at a time: the one that signs, and others. */
  verifyingAt(now: Date): readonly Buffer[];
}

const NAME = 'url-signing';
/** RFC 2104 §3 discourages keys shorter than the hash, which has 32 bytes. */
const KEY_BYTES = 32;
/** Milliseconds for which a former key verifies: a restart of all processes, and the hour of the last URL that it signed. */
const FORMER_MS = 86_400_000;

const Hex = z.string().regex(/^[0-9a-f]{64}$/);
/** The key that the installation generated, as the database has it. */
const GeneratedKey = z.object({
  /** The key that signs. */
  hex: Hex,
  /** The key that will sign, and verifies already. */
  next: Hex.optional(),
  /** The key that has signed, and verifies until then. */
  former: z.object({ hex: Hex, until: z.iso.datetime() }).optional(),
});
type GeneratedKey = z.infer<typeof GeneratedKey>;

/** What a rotation has done: `added` a key that does not sign yet, `changed` the key that signs, or `replaced` it without an overlap. */
export type RotationStep = 'added' | 'changed' | 'replaced';

/**
 * Returns the configured keys, or else the key that the installation generated and stored in the database.
 * @throws Error when the key in the database is invalid
 */
export async function readSigningKeys(
  config: Pick<Config, 'urlSigningKeys'>,
  dataSource: Pick<DirectoryDataSource, 'findOrCreateKey'>,
): Promise<SigningKeys> {
  const [first, ...others] = config.urlSigningKeys ?? [];
  if (first !== undefined) return { signing: first, verifyingAt: () => [first, ...others] };
  const { hex, next, former } = await readGenerated(dataSource);
  const signing = Buffer.from(hex, 'hex');
  const always = [signing, ...(next === undefined ? [] : [Buffer.from(next, 'hex')])];
  if (former === undefined) return { signing, verifyingAt: () => always };
  const until = Date.parse(former.until);
  const all = [...always, Buffer.from(former.hex, 'hex')];
  return { signing, verifyingAt: (now) => (now.getTime() < until ? all : always) };
}

/**
 * Takes the next step to another generated key. Every process has to know a key before one signs with it.
 * @param isReplaced whether the present key must not verify any more
 * @throws Error when the key in the database is invalid, or another rotation is in progress
 */
export async function rotateGenerated(
  dataSource: Pick<DirectoryDataSource, 'findOrCreateKey' | 'replaceKey'>,
  isReplaced: boolean,
): Promise<RotationStep> {
  const kept = await readGenerated(dataSource);
  const { step, key } = nextStep(kept, isReplaced, generate().hex, Date.now());
  if (!(await dataSource.replaceKey(NAME, kept, key)))
    throw new Error('The key was changed meanwhile: run the command again');
  return step;
}

/**
 * @param fresh another key, in hexadecimal
 * @param now milliseconds since 1970
 */
export function nextStep(
  { hex, next, former }: GeneratedKey,
  isReplaced: boolean,
  fresh: string,
  now: number,
): { step: RotationStep; key: GeneratedKey } {
  if (isReplaced) return { step: 'replaced', key: { hex: fresh } };
  if (next === undefined) return { step: 'added', key: { hex, next: fresh, former } };
  const until = new Date(now + FORMER_MS).toISOString();
  return { step: 'changed', key: { hex: next, former: { hex, until } } };
}

const generate = (): GeneratedKey => ({ hex: randomBytes(KEY_BYTES).toString('hex') });

async function readGenerated(
  dataSource: Pick<DirectoryDataSource, 'findOrCreateKey'>,
): Promise<GeneratedKey> {
  const { data } = GeneratedKey.safeParse(await dataSource.findOrCreateKey<GeneratedKey>(NAME, generate));
  if (data !== undefined) return data;
  throw new Error(
    `The key ${NAME} in the table embedded_keys is damaged. Delete its row and start again: the service then ` +
      'creates a new key, and clients have to request the URLs of photos again',
  );
}
