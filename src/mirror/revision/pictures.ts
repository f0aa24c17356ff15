import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { arraysOf } from '../../common/chunks.js';
import { inspectPicture } from '../../media/rendering/inspect-picture.js';

/**
 * Maximum number of bytes of pictures that are collected before they are written together. The driver keeps buffers
 * of the size of the largest statement.
 */
const BATCH_BYTES = 250_000;
/** Maximum number of bytes of one picture. An unprocessed photo from a camera is smaller. */
const LARGEST_PICTURE = 16_000_000;

/** The result of storing a picture: its key in the store, or the reason why it is omitted. */
type StoredPicture = { readonly sha256: Buffer } | { readonly reason: string };

/** Returns the reason why a picture cannot be displayed, or null if it can. */
export async function faultOfPicture(bytes: Buffer): Promise<string | null> {
  if (bytes.length > LARGEST_PICTURE) return `has more than ${LARGEST_PICTURE} bytes`;
  const inspection = await inspectPicture(bytes);
  return inspection.ok ? null : inspection.reason;
}

/**
 * Stores pictures under the SHA-256 of their bytes while entries are still being read, so that a run does not
 * hold them in memory. Unused ones are deleted (see sweepPictures).
 */
export class PictureStore {
  private readonly known = new Set<string>();
  private allKnown = false;
  private waiting: { sha256: Buffer; bytes: Buffer }[] = [];
  private waitingBytes = 0;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Loads the keys of all stored pictures, for runs over a whole directory: one query for each picture would
   * take long.
   */
  static async withAllKnown(dataSource: DataSource): Promise<PictureStore> {
    const store = new PictureStore(dataSource);
    const rows: { sha256: string }[] = await dataSource.query(
      `select encode(sha256, 'hex') as sha256 from pictures`,
    );
    for (const { sha256 } of rows) store.known.add(sha256);
    store.allKnown = true;
    return store;
  }

  /** Stores a picture. A known picture is neither inspected nor written again. */
  async put(bytes: Buffer): Promise<StoredPicture> {
    const sha256 = createHash('sha256').update(bytes).digest();
    const name = sha256.toString('hex');
    if (this.known.has(name) || (await this.isStored(sha256, name))) return { sha256 };
    const reason = await faultOfPicture(bytes);
    if (reason !== null) return { reason };
    this.known.add(name);
    // The bytes are a view of a larger buffer of the file. A copy lets that buffer be released.
    this.waiting.push({ sha256, bytes: Buffer.from(bytes) });
    this.waitingBytes += bytes.length;
    if (this.waitingBytes > BATCH_BYTES) await this.flush();
    return { sha256 };
  }

  private async isStored(sha256: Buffer, name: string): Promise<boolean> {
    if (this.allKnown) return false;
    const rows: unknown[] = await this.dataSource.query('select from pictures where sha256 = $1', [sha256]);
    if (rows.length > 0) this.known.add(name);
    return rows.length > 0;
  }

  async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const batch = this.waiting;
    this.waiting = [];
    this.waitingBytes = 0;
    await this.dataSource.query(
      `insert into pictures (sha256, bytes) select * from unnest($1::bytea[], $2::bytea[])
       on conflict on constraint pictures_pk do nothing`,
      arraysOf(batch, 'sha256', 'bytes'),
    );
  }
}
