import { setTimeout as sleep } from 'node:timers/promises';
import { LdapConnection } from '../src/ldap/connection.js';
import { type ContentRequest, followContent } from '../src/ldap/content-sync.js';
import { ContentSyncRefusedError, RefreshRequiredError } from '../src/ldap/content-sync-error.js';
import { parseFilter } from '../src/ldap/filter-parser.js';
import {
  LdapClosedError,
  LdapProtocolError,
  LdapResultError,
  LdapTimeoutError,
} from '../src/ldap/ldap-error.js';
import { SizeLimitError } from '../src/ldap/limit-error.js';
import type { ContentEvent } from '../src/ldap/sync-stage.js';
import { BASE_DN, buildLdif, groupDn, personDn } from './support/directory.js';
import { ber, entry, FakeLdapServer, message, octets, result } from './support/fake-ldap-server.js';
import { TestProxy } from './support/proxy.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, type TestSlapd } from './support/slapd.mjs';

const ACCOUNT = { bindDn: MIRROR_DN, bindPassword: MIRROR_PASSWORD };
const REQUEST: ContentRequest = {
  base: BASE_DN,
  scope: 'sub',
  filter: parseFilter('(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'),
  attributes: ['*', 'entryUUID'],
  cookie: null,
  persist: false,
};

let slapd: TestSlapd;

beforeAll(async () => {
  slapd = await startSlapd({
    ldif: buildLdif(
      ['ann', 'bob', 'cid', 'dan', 'eve'].map((id) => ({ id })),
      [{ id: 'club', members: ['ann'] }],
    ),
  });
});

afterAll(() => slapd.remove());

/** A set of entries that is kept as the events say. */
class Replica {
  readonly entries = new Map<string, { dn: string; sn: string | undefined }>();
  cookie: Buffer | null = null;
  /** Kinds of the events of the last refresh. */
  kinds: string[] = [];
  private readonly mentioned = new Set<string>();

  get names(): string[] {
    return [...this.entries.values()].map(({ dn }) => /^\w+=([^,]+)/.exec(dn)?.[1] ?? '').sort();
  }

  async refresh(request: Partial<ContentRequest> = {}): Promise<void> {
    const connection = await connect();
    this.begin();
    try {
      for await (const event of followContent(connection, { ...REQUEST, cookie: this.cookie, ...request })) {
        this.take(event);
      }
    } finally {
      connection.close();
    }
  }

  begin(): void {
    this.kinds = [];
    this.mentioned.clear();
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

function connect(port = slapd.port): Promise<LdapConnection> {
  return LdapConnection.connect({ host: '127.0.0.1', port, tls: 'none', ...ACCOUNT });
}

async function modify(...records: string[][]): Promise<void> {
  const { stderr } = await slapd.modify(records.map((lines) => [...lines, ''].join('\n')).join('\n'));
  expect(stderr).toBe('');
}

const rename = (id: string, to: string) => [
  `dn: ${personDn(id)}`,
  'changetype: modrdn',
  `newrdn: uid=${to}`,
  'deleteoldrdn: 1',
];
const remove = (id: string) => [`dn: ${personDn(id)}`, 'changetype: delete'];
const setSn = (id: string, sn: string) => [
  `dn: ${personDn(id)}`,
  'changetype: modify',
  'replace: sn',
  `sn: ${sn}`,
];
const add = (id: string) => [
  `dn: ${personDn(id)}`,
  'changetype: add',
  'objectClass: inetOrgPerson',
  `uid: ${id}`,
  `cn: ${id}`,
  `sn: ${id}`,
];

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe('a refresh', () => {
  const replica = new Replica();

  it('without a cookie brings everything, and a cookie', async () => {
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'bob', 'cid', 'club', 'dan', 'eve']);
    expect(replica.kinds).toEqual([...Array<string>(6).fill('entry'), 'refreshed']);
    expect(replica.cookie).not.toBeNull();
    expect([...replica.entries.keys()][0]).toMatch(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  });

  it('when nothing has changed brings nothing, and leaves the cookie as it is', async () => {
    const before = { names: replica.names, cookie: replica.cookie };
    await replica.refresh();
    expect(replica.kinds).toEqual(['refreshed']);
    expect({ names: replica.names, cookie: replica.cookie }).toEqual(before);
  });

  it('brings what was changed, added, renamed and deleted, and nothing else', async () => {
    const [uuid] = [...replica.entries].find(([, { dn }]) => dn === personDn('cid')) ?? [''];
    await modify(setSn('ann', 'New'), add('fay'), rename('cid', 'kid'), remove('bob'));
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'club', 'dan', 'eve', 'fay', 'kid']);
    expect(replica.entries.get(uuid)?.dn).toBe(personDn('kid'));
    expect([...replica.entries.values()].find(({ dn }) => dn === personDn('ann'))?.sn).toBe('New');
    expect(replica.kinds.sort()).toEqual(['deleted', 'entry', 'entry', 'entry', 'refreshed']);
  });

  it('tells of an entry that the filter no longer chooses as of one that is gone', async () => {
    const request = { filter: parseFilter('(sn=New)') };
    const chosen = new Replica();
    await chosen.refresh(request);
    expect(chosen.names).toEqual(['ann']);
    await modify(setSn('ann', 'Old'), setSn('dan', 'New'));
    await chosen.refresh(request);
    expect(chosen.names).toEqual(['dan']);
  });

  it('after the server has forgotten what was deleted says what is present still', async () => {
    const [uuid] = [...replica.entries].find(([, { dn }]) => dn === personDn('eve')) ?? [''];
    await replica.refresh();
    await modify(remove('dan'), setSn('kid', 'New'));
    // The session log is in the memory of the server.
    await slapd.restart();
    await replica.refresh();
    expect(replica.kinds).toEqual(['present', 'entry', 'refreshed']);
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
    expect(replica.entries.has(uuid)).toBe(true);
  });

  it('from a cookie of long ago brings everything anew', async () => {
    replica.cookie = Buffer.from('rid=000,csn=20200101000000.000000Z#000000#000#000000');
    replica.entries.set('gone', { dn: personDn('gone'), sn: undefined });
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it.each([false, true])('from a cookie of nobody has to begin again (persist: %s)', async (persist) => {
    // The last one is of a time to come: the server has lost what its reader knows.
    for (const cookie of [
      'garbage',
      'x'.repeat(5000),
      'rid=000,csn=29990101000000.000000Z#000000#000#000000',
    ]) {
      const stranger = new Replica();
      stranger.cookie = Buffer.from(cookie);
      const error = await errorOf(stranger.refresh({ persist }));
      expect(error).toBeInstanceOf(RefreshRequiredError);
    }
  });

  it('of what is not there says so', async () => {
    const error = await errorOf(new Replica().refresh({ base: `ou=nowhere,${BASE_DN}` }));
    expect(error).toBeInstanceOf(LdapResultError);
    expect(error).toMatchObject({ code: 32 });
  });
});

describe('following', () => {
  let connection: LdapConnection;
  let events: AsyncGenerator<ContentEvent, void>;
  const stop = new AbortController();
  const replica = new Replica();

  /** Takes events until one has been taken that is wanted. */
  async function follow(isWanted: (event: ContentEvent) => boolean): Promise<ContentEvent> {
    for (;;) {
      const { value } = await events.next();
      if (value === undefined) throw new Error('The events ended');
      replica.take(value);
      if (isWanted(value)) return value;
    }
  }

  beforeAll(async () => {
    connection = await connect();
    // Silence is no fault once the content is there.
    events = followContent(connection, { ...REQUEST, persist: true, signal: stop.signal, idleTimeout: 200 });
    await follow(({ kind }) => kind === 'refreshed');
  });

  afterAll(() => {
    connection.close();
  });

  it('begins with a refresh, and a cookie', () => {
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
    expect(replica.kinds.at(-1)).toBe('refreshed');
    expect(replica.cookie).not.toBeNull();
  });

  it('brings every change as it happens, each with its cookie', async () => {
    const changes: [string[], ContentEvent['kind'], string[]][] = [
      [add('gus'), 'entry', ['ann', 'club', 'eve', 'fay', 'gus', 'kid']],
      [setSn('gus', 'New'), 'entry', ['ann', 'club', 'eve', 'fay', 'gus', 'kid']],
      [rename('gus', 'gil'), 'entry', ['ann', 'club', 'eve', 'fay', 'gil', 'kid']],
      [remove('gil'), 'deleted', ['ann', 'club', 'eve', 'fay', 'kid']],
      [
        [`dn: ${groupDn('club')}`, 'changetype: modify', 'add: member', `member: ${personDn('eve')}`],
        'entry',
        ['ann', 'club', 'eve', 'fay', 'kid'],
      ],
    ];
    for (const [record, kind, names] of changes) {
      const before = replica.cookie;
      await modify(record);
      const event = await follow((each) => each.kind !== 'cookie');
      expect(event.kind).toBe(kind);
      expect(replica.names).toEqual(names);
      expect(replica.cookie).not.toEqual(before);
    }
  });

  it('brings every one of many changes', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    await modify(...ids.map(add));
    await follow((event) => event.kind === 'entry' && event.entry.dn === personDn('many-199'));
    await modify(...ids.map(remove));
    while (replica.entries.size > 5) await follow(({ kind }) => kind === 'deleted');
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it('leaves a cookie to go on from, with a refresh', async () => {
    await modify(setSn('eve', 'New'));
    const other = new Replica();
    other.cookie = replica.cookie;
    await other.refresh();
    expect(other.names).toEqual(['eve']);
    await follow(({ kind }) => kind === 'entry');
  });

  it('goes on while nothing happens, beside other searches, until its signal', async () => {
    const next = events.next();
    const other = connection.search({ ...REQUEST, filter: parseFilter('(uid=ann)') });
    expect((await other.next()).value).toMatchObject({ kind: 'entry' });
    expect(await Promise.race([next, sleep(400, 'nothing')])).toBe('nothing');
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(connection.isOpen).toBe(true);
  });
});

describe('losing the server', () => {
  async function followUntilLost(lose: () => Promise<void>, port = slapd.port) {
    const connection = await connect(port);
    const events = followContent(connection, { ...REQUEST, persist: true });
    while ((await events.next()).value?.kind !== 'refreshed');
    const lost = errorOf(events.next());
    await lose();
    await lost;
    connection.close();
    return lost;
  }

  it('is noticed when it is stopped', async () => {
    const lost = await followUntilLost(() => slapd.stop());
    await slapd.start();
    expect(lost).toBeInstanceOf(Error);
    expect(String(lost)).toMatch(/Ldap(Closed|Result)Error/);
  });

  it('is noticed when it is killed, and found out when it knows less than before', async () => {
    const replica = new Replica();
    const connection = await connect();
    const events = followContent(connection, { ...REQUEST, persist: true });
    const take = async () => {
      const { value } = await events.next();
      if (value === undefined) throw new Error('The events ended');
      replica.take(value);
      return value.kind;
    };
    while ((await take()) !== 'refreshed');
    await modify(setSn('ann', 'Killed'));
    while ((await take()) !== 'entry');
    const lost = errorOf(take());
    await slapd.stop('SIGKILL');
    expect(await lost).toBeInstanceOf(LdapClosedError);
    // What OpenLDAP does not write down at once is how far it has come.
    await slapd.start();
    const error = await errorOf(replica.refresh());
    expect(error).toBeInstanceOf(ContentSyncRefusedError);
    expect((error as Error).message).toContain('newer than its contextCSN');
    await modify(setSn('eve', 'Newer'));
    await replica.refresh();
    expect([...replica.entries.values()].find(({ dn }) => dn === personDn('ann'))?.sn).toBe('Killed');
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it('is noticed when the network is cut', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const lost = await followUntilLost(() => {
      proxy.cut();
      return Promise.resolve();
    }, proxy.port);
    await proxy.stop();
    expect(lost).toBeInstanceOf(LdapClosedError);
  });

  it('in the middle of a refresh is noticed even when nobody says so', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const connection = await connect(proxy.port);
    proxy.freeze();
    const events = followContent(connection, { ...REQUEST, persist: true, idleTimeout: 100 });
    expect(await errorOf(events.next())).toBeInstanceOf(LdapTimeoutError);
    connection.close();
    await proxy.stop();
  });
});

describe('a server that does not let us', () => {
  afterEach(() =>
    slapd.restart({ syncprov: true, acl: undefined, limits: `dn.exact="${MIRROR_DN}" size=unlimited` }),
  );

  it('because it has no content synchronisation is told apart', async () => {
    await slapd.restart({ syncprov: false });
    for (const persist of [false, true]) {
      const error = await errorOf(new Replica().refresh({ persist }));
      expect(error).toBeInstanceOf(ContentSyncRefusedError);
      expect((error as Error).message).toBe('The directory server has no content synchronisation');
    }
  });

  it('see anything but people still tells of people', async () => {
    await slapd.restart({
      acl: [
        'access to attrs=userPassword by anonymous auth by * none',
        `access to dn.subtree="ou=people,${BASE_DN}" by dn.exact="${MIRROR_DN}" read by * none`,
        'access to * by * none',
      ],
    });
    const replica = new Replica();
    await replica.refresh({ base: `ou=people,${BASE_DN}` });
    expect(replica.names).toEqual(['ann', 'eve', 'fay', 'kid']);
    expect(await errorOf(new Replica().refresh())).toMatchObject({ code: 32 });
  });

  it('read everything says what to change', async () => {
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=3` });
    for (const persist of [false, true]) {
      const error = await errorOf(new Replica().refresh({ persist }));
      expect(error).toBeInstanceOf(SizeLimitError);
      expect((error as Error).message).toContain(`limits dn.exact="${MIRROR_DN}" size=unlimited`);
    }
  });
});

describe('a server that ends the synchronisation', () => {
  /** `refreshDelete` without anything in it: the refresh is over. */
  const refreshed = message(2, ber(0x79, octets('1.3.6.1.4.1.4203.1.9.1.4', 0x80), octets(ber(0xa1), 0x81)));

  it.each([
    ['and says that it has to begin again', [refreshed, result(2, 4096)], RefreshRequiredError],
    ['for a reason of its own', [refreshed, result(2, 53)], LdapResultError],
    ['as if that were all', [refreshed, result(2)], LdapClosedError],
    ['before it has begun', [result(2, 53)], ContentSyncRefusedError],
    ['with something that is none', [entry(2, 'cn=a')], LdapProtocolError],
  ])('%s is told apart', async (_, answer, kind) => {
    const fake = await FakeLdapServer.start((socket) => {
      // The first request is for what the server says of itself, which is nothing.
      socket.once('data', () => {
        socket.write(result(1));
        socket.once('data', () => socket.write(Buffer.concat(answer)));
      });
    });
    const connection = await LdapConnection.connect({ host: '127.0.0.1', port: fake.port, tls: 'none' });
    const follow = async () => {
      for await (const event of followContent(connection, { ...REQUEST, persist: true })) {
        expect(event).toEqual({ kind: 'refreshed', unmentionedAreGone: true, cookie: null });
      }
    };
    const error = await errorOf(follow());
    expect((error as Error).constructor).toBe(kind);
    expect(connection.isOpen).toBe(kind !== LdapProtocolError);
    connection.close();
    await fake.stop();
  });
});
