import { LdapConnection } from '../../../src/ldap/client/ldap-connection.js';
import { type ContentRequest, followContent } from '../../../src/ldap/sync/content-sync.js';
import { parseFilter } from '../../../src/ldap/filter/filter-parser.js';
import type { ContentEvent } from '../../../src/ldap/sync/sync-stage.js';
import { BASE_DN, personDn } from '../builders/directory.js';
import { MIRROR_DN, MIRROR_PASSWORD } from './slapd.mjs';

/** All attributes of users and groups. */
export const REQUEST: ContentRequest = {
  base: BASE_DN,
  scope: 'sub',
  filter: parseFilter('(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'),
  attributes: ['*', 'entryUUID'],
  cookie: null,
  persist: false,
};

/** Binds as the account of the mirror. */
export function connectTo(port: number): Promise<LdapConnection> {
  const account = { bindDn: MIRROR_DN, bindPassword: MIRROR_PASSWORD };
  return LdapConnection.connect({ host: '127.0.0.1', port, tls: 'none', ...account });
}

/** A set of entries that is kept by the events of content synchronization. */
export class LdapReplica {
  readonly entries = new Map<string, { dn: string; sn: string | undefined }>();
  cookie: Buffer | null = null;
  /** Kinds of the events of the last refresh. */
  kinds: string[] = [];
  private readonly mentioned = new Set<string>();

  /** @param server whose port is read before each refresh */
  constructor(private readonly server: () => { readonly port: number }) {}

  /** The ids of the entries. */
  get names(): string[] {
    return [...this.entries.values()].map(({ dn }) => /^\w+=([^,]+)/.exec(dn)?.[1] ?? '').sort();
  }

  async refresh(request: Partial<ContentRequest> = {}): Promise<void> {
    const connection = await connectTo(this.server().port);
    this.kinds = [];
    this.mentioned.clear();
    try {
      for await (const event of followContent(connection, { ...REQUEST, cookie: this.cookie, ...request })) {
        this.take(event);
      }
    } finally {
      connection.close();
    }
  }

  take(event: ContentEvent): void {
    this.kinds.push(event.kind);
    if (event.kind === 'entry') {
      this.entries.set(event.uuid, { dn: event.entry.dn, sn: event.entry.text('sn')[0] });
      this.mentioned.add(event.uuid);
    }
    if (event.kind === 'present') for (const uuid of event.uuids) this.mentioned.add(uuid);
    if (event.kind === 'deleted') for (const uuid of event.uuids) this.entries.delete(uuid);
    if (event.kind === 'refreshed' && event.unmentionedAreGone) {
      for (const uuid of this.entries.keys()) if (!this.mentioned.has(uuid)) this.entries.delete(uuid);
    }
    if ('cookie' in event && event.cookie !== null) this.cookie = event.cookie;
  }
}

/** The lines of one change record each. */
export const renameLines = (id: string, to: string): string[] => [
  `dn: ${personDn(id)}`,
  'changetype: modrdn',
  `newrdn: uid=${to}`,
  'deleteoldrdn: 1',
];
export const removalLines = (id: string): string[] => [`dn: ${personDn(id)}`, 'changetype: delete'];
export const setSnLines = (id: string, sn: string): string[] => [
  `dn: ${personDn(id)}`,
  'changetype: modify',
  'replace: sn',
  `sn: ${sn}`,
];
export const additionLines = (id: string): string[] => [
  `dn: ${personDn(id)}`,
  'changetype: add',
  'objectClass: inetOrgPerson',
  `uid: ${id}`,
  `cn: ${id}`,
  `sn: ${id}`,
];

/** Change records as LDIF. */
export function joinRecords(...records: readonly string[][]): string {
  return records.map((lines) => [...lines, ''].join('\n')).join('\n');
}
