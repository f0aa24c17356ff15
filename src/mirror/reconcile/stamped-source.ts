import type { Entry } from '../../ldap/entry.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import type { Delta } from '../../sources/delta.js';
import type { LdapDirectory } from '../../sources/ldap/ldap-directory.js';
import type { DirectorySource } from '../../sources/source.js';

/** A source that also records the server's stamp of each entry: see entry_stamps. */
export class StampedSource implements DirectorySource {
  readonly stamps = new Map<string, string>();

  constructor(
    private readonly source: DirectorySource,
    private readonly uuidAttribute: string,
    private readonly stampOf: (entry: Entry) => string | null,
  ) {}

  get isReadOnce(): boolean {
    return this.source.isReadOnce;
  }

  fingerprint(): Promise<string> {
    return this.source.fingerprint();
  }

  position(): string | null {
    return this.source.position();
  }

  async *read(signal: AbortSignal): ReturnType<DirectorySource['read']> {
    this.stamps.clear();
    for await (const each of this.source.read(signal)) {
      const uuid = uuidOfEntry(each.entry, this.uuidAttribute);
      const stamp = this.stampOf(each.entry);
      if (uuid !== null && stamp !== null) this.stamps.set(uuid, stamp);
      yield each;
    }
  }
}

/** The server's stamps of changed entries, by entryUUID: see entry_stamps. */
export function stampsOf(
  { people, groups }: Delta,
  directory: Pick<LdapDirectory, 'stampOf'>,
): Map<string, string> {
  const stamps = new Map<string, string>();
  for (const [uuid, entry] of [...people, ...groups]) {
    const stamp = directory.stampOf(entry);
    if (stamp !== null) stamps.set(uuid, stamp);
  }
  return stamps;
}
