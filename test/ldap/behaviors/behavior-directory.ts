import { createHash } from 'node:crypto';
import { cpSync, lstatSync, renameSync, rmSync } from 'node:fs';
import type { Environment } from '../../../src/config/config.js';
import { type DumpedEntry, parseDump } from '../../support/builders/ldap-content.js';
import type { Ended, LdapQuery } from '../../support/servers/ldap-tools.mjs';

/** A directory server of any kind, as the suite of behaviors starts, changes and stops it. */
export interface BehaviorServer {
  modify(ldif: string): Promise<Ended>;
  search(query?: Partial<LdapQuery>): Promise<string>;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  remove(): Promise<void>;
}

/** An exchange of a server and one that lacks its latest changes. Each call of `swap` exchanges them. */
export interface Swap {
  swap(): Promise<void>;
  remove(): void;
}

export interface TestPerson {
  readonly photo?: Buffer;
}

/** How entries are written and recognized on a kind of server. */
export interface Vocabulary {
  /** The attribute of the ids of users, and of groups, in lower case. */
  readonly ids: { readonly user: string; readonly group: string };
  /** Attributes, in lower case. */
  readonly photo: string;
  readonly members: readonly string[];
  readonly personDn: (id: string) => string;
  readonly groupDn: (id: string) => string;
  /** A container below that of the users. */
  readonly innerDn: string;
  /** Change records that add entries. */
  readonly person: (id: string, person: TestPerson) => string;
  readonly group: (id: string, members: readonly string[]) => string;
  readonly rename: (id: string, to: string) => string;
  readonly disable: (id: string) => string;
  readonly isActive: (user: DumpedEntry) => boolean;
  /** The searches of users and of groups. */
  readonly queries: { readonly users: Partial<LdapQuery>; readonly groups: Partial<LdapQuery> };
  /** The group of which a user is a member without being named. Undefined: there are no such groups. */
  readonly primaryGroup?: (user: DumpedEntry, groups: readonly DumpedEntry[]) => DumpedEntry | undefined;
}

export interface BehaviorDirectory {
  readonly server: BehaviorServer;
  readonly vocabulary: Vocabulary;
  /** Settings of the service. */
  readonly settings: Environment;
  /** Number of further users. Default: more than a page has. */
  readonly crowdSize?: number;
  /** Whether the server shows that it lacks changes, by its contextCSN or its numbers. Others are compared as a whole. */
  readonly showsLag: boolean;
  /** Prepares a server that lacks all changes from now on: `of` a server that runs, or of one that is stopped. */
  readonly lag:
    | { readonly of: 'running'; readonly prepare: () => Promise<Swap> }
    | { readonly of: 'stopped'; readonly prepare: () => Swap };
  /** Lists the ids of the users in some groups with a tool of the vendor. Undefined: there is none. */
  listMembers?(): Promise<Record<string, string[]>>;
}

/** What a mirror shows: users, and the ids of the users in each group, also through nested groups. */
export interface Shown {
  readonly users: Record<
    string,
    { readonly name: string; readonly photo: string | null; readonly active: boolean }
  >;
  readonly groups: Record<string, readonly string[]>;
}

/** Reads the directory with ldapsearch, and returns what the mirror has to show. */
export async function readExpected({ server, vocabulary }: BehaviorDirectory): Promise<Shown> {
  const users = parseDump(await server.search(vocabulary.queries.users));
  const groups = parseDump(await server.search(vocabulary.queries.groups));
  const { ids, photo } = vocabulary;
  const usersByName = new Map(users.map((user) => [keyOf(user.dn), textOf(user, ids.user)]));
  const groupsByDn = new Map(groups.map((group) => [keyOf(group.dn), group]));
  const direct = (group: DumpedEntry) => [
    ...vocabulary.members
      .flatMap((attribute) => group.values.get(attribute) ?? [])
      .map((value) => keyOf(value.toString().replace(/#'[01]*'B$/, ''))),
    ...users.filter((user) => vocabulary.primaryGroup?.(user, groups) === group).map(({ dn }) => keyOf(dn)),
  ];
  const membersOf = (group: DumpedEntry) => {
    const seen = new Set<string>();
    const waiting = direct(group);
    for (let dn = waiting.pop(); dn !== undefined; dn = waiting.pop()) {
      if (seen.has(dn)) continue;
      seen.add(dn);
      const inner = groupsByDn.get(dn);
      if (inner !== undefined) waiting.push(...direct(inner));
    }
    return [...seen].flatMap((name) => usersByName.get(name) ?? []).sort();
  };
  return {
    users: sorted(users.map((user) => [textOf(user, ids.user), shownOf(user)])),
    groups: sorted(groups.map((group) => [textOf(group, ids.group), membersOf(group)])),
  };

  function shownOf(user: DumpedEntry) {
    const [bytes] = user.values.get(photo) ?? [];
    return {
      name: textOf(user, 'displayname') || textOf(user, 'cn'),
      photo: bytes === undefined ? null : createHash('sha256').update(bytes).digest('hex'),
      active: vocabulary.isActive(user),
    };
  }
}

/** The users and groups that differ, with what is shown and what is expected. */
export function differencesOf(shown: Shown, expected: Shown): string[] {
  return (['users', 'groups'] as const).flatMap((kind) => {
    const ids = new Set([...Object.keys(shown[kind]), ...Object.keys(expected[kind])]);
    const pairs = [...ids].map((id) => [
      id,
      ...[shown, expected].map((each) => JSON.stringify(each[kind][id])),
    ]);
    return pairs.filter(([, one, other]) => one !== other).map((pair) => pair.join(' ').slice(0, 200));
  });
}

/** A server whose data is in one directory. */
type CopiedServer = BehaviorServer & { readonly directory: string };

/** A copy of the data of a server, which can replace the data later. */
export class OldCopy implements Swap {
  private readonly copy: string;

  /** @param server it does not run */
  constructor(private readonly server: CopiedServer) {
    this.copy = `${server.directory}-old`;
    const isCopied = (path: string) => !lstatSync(path).isSocket();
    cpSync(server.directory, this.copy, { recursive: true, filter: isCopied });
  }

  static lagOf(server: CopiedServer): BehaviorDirectory['lag'] {
    return { of: 'stopped', prepare: () => new OldCopy(server) };
  }

  /** Exchanges the data of the server and the copy. Some servers take seconds to stop in order. */
  async swap(): Promise<void> {
    const { directory } = this.server;
    await this.server.stop('SIGKILL');
    renameSync(directory, `${directory}-new`);
    renameSync(this.copy, directory);
    renameSync(`${directory}-new`, this.copy);
    await this.server.start();
  }

  remove(): void {
    rmSync(this.copy, { recursive: true, force: true });
  }
}

export function textOf({ values }: DumpedEntry, attribute: string): string {
  return values.get(attribute)?.[0]?.toString() ?? '';
}

function keyOf(dn: string): string {
  return dn.toLowerCase();
}

export function sorted<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([left], [right]) => (left < right ? -1 : 1)));
}
