import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { mappingOf } from '../config/model/mapping.js';
import type { DirectoryConfig, FileSourceConfig } from '../config/settings/directory.js';
import type { Entry } from '../ldap/entry.js';
import { compileFilter } from '../ldap/filter/filter.js';
import { LdifError, type LdifRecord, parseRecord, splitLdif } from '../ldap/ldif/ldif.js';
import { isBelow } from '../ldap/naming/dn.js';
import { keyOfDn, uuidOfDn, uuidOfEntry } from '../ldap/naming/identifiers.js';
import {
  type Directory,
  type EntryKind,
  type Found,
  type Hint,
  type Identity,
  KINDS,
  SourceError,
} from './directory.js';

const CHUNK = 1 << 18;
const POLL_INTERVAL_MS = 100;
/** A file that is still being written changes within this number of checks. */
const SETTLED_CHECKS = 2;

/** A directory that is stored in an LDIF content file (RFC 2849). */
export class FileDirectory implements Directory {
  readonly mode = null;
  readonly refusals = [];
  readonly hintDelay = (SETTLED_CHECKS + 2) * POLL_INTERVAL_MS;
  readonly contextCsns = [];
  private readonly choosers: readonly (readonly [EntryKind, (entry: Entry) => boolean])[];

  constructor(
    private readonly config: DirectoryConfig,
    private readonly source: FileSourceConfig,
  ) {
    this.choosers = KINDS.map((kind) => {
      const { bases, filter } = mappingOf(config.mapping, kind);
      const matches = compileFilter(filter);
      return [kind, (entry) => matches(entry) && bases.some((base) => isBelow(entry.dn, base))];
    });
  }

  /**
   * Yields the users and groups in the order of the file.
   * @throws LdifError when the file is malformed, also for a second record with one DN
   */
  async *scan(): AsyncGenerator<readonly Found[]> {
    const seen = new Set<string>();
    for await (const records of this.read())
      yield records.flatMap((record) => {
        const entry = parseRecord(record);
        if (entry === null) return [];
        // The key itself is many small strings until it is written somewhere, which take six times as much memory.
        const dnKey = Buffer.from(keyOfDn(entry.dn).replaceAll('-', ''), 'hex').toString('latin1');
        if (seen.has(dnKey)) throw new LdifError(record.line, 'a dn that occurs in the file already');
        seen.add(dnKey);
        return this.foundIn(record, entry);
      });
  }

  async *fetch(identities: readonly Identity[]): AsyncGenerator<readonly Found[]> {
    const uuids = new Set(identities.map(({ uuid }) => uuid));
    for await (const page of this.scan()) yield page.filter(({ uuid }) => uuids.has(uuid));
  }

  async *hints(signal: AbortSignal): AsyncGenerator<Hint> {
    let scanned = await this.version();
    let seen = scanned;
    let unchanged = 0;
    for (;;) {
      await sleep(POLL_INTERVAL_MS, undefined, { signal });
      const version = await this.version();
      unchanged = version === seen ? unchanged + 1 : 0;
      seen = version;
      if (version === scanned || unchanged < SETTLED_CHECKS) continue;
      scanned = version;
      yield 'scan';
    }
  }

  /** Changes with the file. Its absence is a change, too. */
  private async version(): Promise<string> {
    const found = await stat(this.source.file).catch(() => null);
    return found === null ? 'absent' : `${found.ino}-${found.size}-${found.mtimeMs}`;
  }

  describeLag(): Promise<null> {
    return Promise.resolve(null);
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    // A file is open only while it is read.
  }

  /** @throws SourceError when the file cannot be read, or changes meanwhile */
  private async *read(): AsyncGenerator<readonly LdifRecord[]> {
    const before = await this.version();
    try {
      yield* splitLdif(createReadStream(this.source.file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>);
    } catch (error) {
      if (error instanceof LdifError) throw error;
      throw new SourceError('The directory file does not exist, or cannot be read', { cause: error });
    }
    if ((await this.version()) !== before) throw new SourceError('The file changed while it was read');
  }

  /** The user or group that an entry is, if it is one. */
  private foundIn({ text, isFirst }: LdifRecord, entry: Entry): Found[] {
    const [kind] = this.choosers.find(([, isOfKind]) => isOfKind(entry)) ?? [];
    if (kind === undefined) return [];
    // An entry with a malformed identifier is left out with its reason, under one that is made of its DN.
    const uuid = uuidOfEntry(entry, mappingOf(this.config.mapping, kind).uuid) ?? uuidOfDn(entry.dn);
    // The first record may have a version, with which the same bytes are an error in another place: it has another stamp.
    const stamp = `${isFirst ? 'first ' : ''}${hash('sha256', Buffer.from(text, 'latin1'), 'base64url')}`;
    return uuid === null ? [] : [{ kind, uuid, dn: entry.dn, stamp, entry }];
  }
}
