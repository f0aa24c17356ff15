import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapResultError } from '../../ldap/client/ldap-error.js';
import { readOne } from '../../ldap/client/read-one.js';

const READ_TIMEOUT = { idleTimeout: 10_000 };
const CSN = /^\d{14}(?:\.\d{1,6})?Z#[0-9a-f]{6}#([0-9a-f]{2,3})#[0-9a-f]{6}$/i;

/** The newest changes that an OpenLDAP server has, by the server ID where they were first written (0 where none is configured). */
export class ContextCsns {
  /** The contextCSN of each server ID, sorted by ID. */
  shown: readonly string[] = [];
  /** CSNs of entries that are newer: after a crash, the contextCSN of OpenLDAP is an older one until the next change. */
  private newer: readonly string[] = [];

  /** @param suffixes those of the databases that have users or groups */
  constructor(
    private readonly connection: LdapConnection,
    private readonly suffixes: readonly string[],
  ) {}

  get all(): readonly string[] {
    return [...newestOf([...this.shown, ...this.newer]).values()];
  }

  async read(): Promise<void> {
    const csns: string[] = [];
    for (const suffix of this.suffixes) {
      const entry = await readOne(this.connection, suffix, ['contextCSN'], READ_TIMEOUT);
      csns.push(...(entry?.text('contextCSN') ?? []));
    }
    this.shown = [...newestOf(csns).values()];
  }

  /** See Directory.describeLag. */
  async describeLag(known: readonly string[]): Promise<string | null> {
    const before = newestOf(known);
    if (before.size > 0 && this.shown.length === 0)
      return 'The directory server no longer shows its contextCSN';
    const findMissing = () => {
      const present = newestOf(this.all);
      return [...before].filter(([id, csn]) => (present.get(id) ?? '') < csn);
    };
    const [oldest] = findMissing()
      .map(([, csn]) => csn)
      .sort();
    if (oldest === undefined) return null;
    await this.readNewer(oldest);
    const missing = findMissing();
    const last = missing
      .map(([, csn]) => csn)
      .sort()
      .at(-1);
    if (last === undefined) return null;
    const since = last.replace(/^(....)(..)(..)(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z');
    const ids = missing.map(([id]) => id).join(', ');
    return `The directory server is behind what is known since ${since} (server ID ${ids})`;
  }

  /** Reads the CSNs of entries from one on; none if the server does not permit the search. */
  private async readNewer(csn: string): Promise<void> {
    const newer: string[] = [];
    const filter = { kind: 'greaterOrEqual', attribute: 'entryCSN', value: Buffer.from(csn) } as const;
    for (const base of this.suffixes)
      try {
        const request = { base, scope: 'sub', filter, attributes: ['entryCSN'] } as const;
        for await (const message of this.connection.search(request, READ_TIMEOUT))
          if (message.kind === 'entry') newer.push(...message.entry.text('entryCSN'));
      } catch (error) {
        if (!(error instanceof LdapResultError)) throw error;
      }
    this.newer = newer.filter((each) => each >= csn);
  }
}

/** The newest CSN of each server ID, in the order of the IDs. CSNs of one ID have the order of their text. */
function newestOf(csns: readonly string[]): ReadonlyMap<number, string> {
  const newest = new Map<number, string>();
  for (const csn of csns) {
    const [, id] = CSN.exec(csn) ?? [];
    if (id === undefined) continue;
    const serverId = Number.parseInt(id, 16);
    if (csn > (newest.get(serverId) ?? '')) newest.set(serverId, csn);
  }
  return new Map([...newest].sort(([one], [other]) => one - other));
}
