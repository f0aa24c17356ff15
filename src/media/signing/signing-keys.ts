import { randomBytes } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { EmbeddedKeys } from '../../database/embedded/embedded-keys.js';

/** Injection token of the keys of signed URLs. The first one signs, all verify. */
export const SIGNING_KEYS = Symbol('SIGNING_KEYS');
export type SigningKeys = readonly [Buffer, ...Buffer[]];

const NAME = 'url-signing';
/** RFC 2104 §3 discourages keys shorter than the hash, which has 32 bytes. */
const KEY_BYTES = 32;

/**
 * Returns the configured keys, or else the key that the installation generated and stored in the database.
 * @throws Error when the key in the database is invalid
 */
export async function readSigningKeys(
  config: Pick<Config, 'urlSigningKeys'>,
  embeddedKeys: Pick<EmbeddedKeys, 'findOrCreate'>,
): Promise<SigningKeys> {
  const [first, ...others] = config.urlSigningKeys ?? [];
  if (first !== undefined) return [first, ...others];
  const kept = await embeddedKeys.findOrCreate<{ hex?: unknown }>(NAME, () => ({
    hex: randomBytes(KEY_BYTES).toString('hex'),
  }));
  return [parseKey(kept)];
}

function parseKey(kept: { hex?: unknown }): Buffer {
  if (typeof kept.hex !== 'string' || !/^[0-9a-f]{64}$/.test(kept.hex)) {
    throw new Error(
      `The key ${NAME} in the table embedded_keys is damaged. Delete its row and start again: the service then ` +
        'creates a new key, and clients have to request the URLs of photos again',
    );
  }
  return Buffer.from(kept.hex, 'hex');
}
