import { randomBytes } from 'node:crypto';
import { SEAL_BYTES } from '../../common/key-seal.js';
import type { Writer } from '../statements/statement.js';

/** The key of cursors that the database has at the start. The heartbeat notices when a restore replaces it. */
export async function readCursorKey(writer: Writer): Promise<Buffer> {
  const [row] = await writer.query<{ key: Buffer }[]>('select cursor_key as key from mirror_state');
  // A database that is being restored has no row yet.
  return row?.key ?? randomBytes(SEAL_BYTES);
}
