import { setTimeout as sleep } from 'node:timers/promises';
import {
  followContent,
  type SyncEvent,
  SyncRefusedError,
  type SyncRequest,
} from '../../src/ldap/client/content-sync.js';
import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import {
  LdapClosedError,
  LdapProtocolError,
  LdapResultError,
  LdapTimeoutError,
} from '../../src/ldap/client/ldap-error.js';
import { LimitExceededError } from '../../src/ldap/client/server-kind.js';
import { parseFilter } from '../../src/ldap/filter/filter.js';
import { BASE_DN, buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { errorOf } from '../support/error-of.js';
import { ber, entry, FakeLdapServer, message, octets, result } from '../support/servers/fake-ldap-server.js';
import { TestProxy } from '../support/servers/proxy.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';

/** All users and groups. */
const REQUEST: SyncRequest = {
  base: BASE_DN,
  scope: 'sub',
  filter: parseFilter('(|(objectClass=inetOrgPerson)(objectClass=groupOfNames))'),
  attributes: ['entryUUID'],
  csns: [],
  persist: true,
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

/** Binds as the account of the mirror. */
function connectTo(port = slapd.port): Promise<LdapConnection> {
  const account = { bindDn: MIRROR_DN, bindPassword: MIRROR_PASSWORD };
  return LdapConnection.connect({ host: '127.0.0.1', port, tls: 'none', ...account });
}

async function modify(...records: string[][]): Promise<void> {
  const { stderr } = await slapd.modify(records.map((lines) => [...lines, ''].join('\n')).join('\n'));
  expect(stderr).toBe('');
}

const changeLines = (id: string, ...lines: string[]) => [`dn: ${personDn(id)}`, ...lines];
const renameLines = (id: string, to: string) =>
  changeLines(id, 'changetype: modrdn', `newrdn: uid=${to}`, 'deleteoldrdn: 1');
const removalLines = (id: string) => changeLines(id, 'changetype: delete');
const setSnLines = (id: string, sn: string) =>
  changeLines(id, 'changetype: modify', 'replace: sn', `sn: ${sn}`);
const additionLines = (id: string) =>
  changeLines(
    id,
    ...['changetype: add', 'objectClass: inetOrgPerson', `uid: ${id}`, `cn: ${id}`, `sn: ${id}`],
  );

/** The state of the server, from which changes are sent. */
async function readCsns(): Promise<string[]> {
  const text = await slapd.search({ base: SUFFIX, scope: 'base', attributes: ['contextCSN'] });
  return [...text.matchAll(/^contextCSN: (.*)$/gm)].map(([, csn = '']) => csn);
}

/** Follows as the account of the mirror. Events are texts: the id of an entry, a number of deleted entries, or `refreshed`. */
class Follower {
  readonly uuids = new Map<string, string>();

  private constructor(
    readonly connection: LdapConnection,
    private readonly events: AsyncGenerator<SyncEvent, void>,
  ) {}

  static async start(request: Partial<SyncRequest> = {}, port?: number): Promise<Follower> {
    const connection = await connectTo(port);
    return new Follower(connection, followContent(connection, { ...REQUEST, ...request }));
  }

  async next(): Promise<string> {
    const { value } = await this.events.next();
    if (value === undefined) return 'end';
    if (value.kind === 'refreshed') return value.kind;
    if (value.kind === 'deleted') return `deleted ${value.uuids.length}`;
    const id = /^\w+=([^,]+)/.exec(value.entry.dn)?.[1] ?? '';
    this.uuids.set(id, value.uuid);
    return id;
  }

  /** The events up to an expected one, sorted. */
  async until(last: string): Promise<string[]> {
    const texts: string[] = [];
    while (texts.at(-1) !== last) texts.push(await this.next());
    return texts.slice(0, -1).sort();
  }
}

async function refreshOf(request: Partial<SyncRequest>): Promise<string[]> {
  const follower = await Follower.start(request);
  try {
    return await follower.until('refreshed');
  } finally {
    follower.connection.close();
  }
}

describe('a refresh', () => {
  it.each([true, false])('from no state on lists everything (persist: %s)', async (persist) => {
    const follower = await Follower.start({ persist });
    expect(await follower.until('refreshed')).toEqual(['ann', 'bob', 'cid', 'club', 'dan', 'eve']);
    expect(follower.uuids.get('ann')).toMatch(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
    if (!persist) expect(await follower.next()).toBe('end');
    follower.connection.close();
  });

  it('from the present state on lists nothing, and from an earlier one what has changed', async () => {
    const csns = await readCsns();
    expect(await refreshOf({ csns })).toEqual([]);
    await modify(
      setSnLines('ann', 'New'),
      additionLines('fay'),
      renameLines('cid', 'kid'),
      removalLines('bob'),
    );
    expect(await refreshOf({ csns })).toEqual(['ann', 'deleted 1', 'fay', 'kid']);
  });

  it('reports an entry that no longer matches the filter as deleted', async () => {
    const csns = await readCsns();
    const filter = parseFilter('(sn=New)');
    expect(await refreshOf({ filter })).toEqual(['ann']);
    await modify(setSnLines('ann', 'Old'), setSnLines('dan', 'New'));
    expect(await refreshOf({ filter, csns })).toEqual(['dan', 'deleted 1']);
  });

  it('after the loss of the session log lists only what has changed', async () => {
    const csns = await readCsns();
    await modify(removalLines('dan'), setSnLines('kid', 'New'));
    // The session log is in the memory of the server.
    await slapd.restart();
    expect(await refreshOf({ csns })).toEqual(['kid']);
  });

  it('from a state of long ago lists everything', async () => {
    const csns = ['20200101000000.000000Z#000000#000#000000'];
    expect(await refreshOf({ csns })).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it('from a state that the server has lost is refused', async () => {
    const csns = ['29990101000000.000000Z#000000#000#000000'];
    for (const persist of [false, true])
      expect(await errorOf(refreshOf({ csns, persist }))).toBeInstanceOf(SyncRefusedError);
  });

  it('of a missing base is an error', async () => {
    const error = await errorOf(refreshOf({ base: `ou=nowhere,${BASE_DN}` }));
    expect(error).toBeInstanceOf(LdapResultError);
    expect(error).toMatchObject({ code: 32 });
  });
});

describe('following', () => {
  let follower: Follower;
  const stop = new AbortController();

  beforeAll(async () => {
    // Silence is not an error after the refresh.
    follower = await Follower.start({ csns: await readCsns(), signal: stop.signal, idleTimeout: 200 });
    expect(await follower.until('refreshed')).toEqual([]);
  });

  afterAll(() => {
    follower.connection.close();
  });

  it('returns every change when it happens', async () => {
    const membership = ['changetype: modify', 'add: member', `member: ${personDn('eve')}`];
    const changes: [string[], string][] = [
      [additionLines('gus'), 'gus'],
      [setSnLines('gus', 'New'), 'gus'],
      [renameLines('gus', 'gil'), 'gil'],
      [removalLines('gil'), 'deleted 1'],
      [[`dn: ${groupDn('club')}`, ...membership], 'club'],
    ];
    for (const [record, event] of changes) {
      await modify(record);
      expect(await follower.next()).toBe(event);
    }
    expect(follower.uuids.get('gil')).toBe(follower.uuids.get('gus'));
  });

  it('returns every one of many changes', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    await modify(...ids.map(additionLines));
    for (const id of ids) expect(await follower.next()).toBe(id);
    await modify(...ids.map(removalLines));
    for (let deleted = 0; deleted < ids.length;) {
      const [, count = ''] = /^deleted (\d+)$/.exec(await follower.next()) ?? [];
      expect(Number(count)).toBeGreaterThan(0);
      deleted += Number(count);
    }
  });

  it('continues without changes, beside other searches, until its signal', async () => {
    const next = follower.next();
    const other = follower.connection.search({ ...REQUEST, filter: parseFilter('(uid=ann)') });
    expect((await other.next()).value).toMatchObject({ kind: 'entry' });
    expect(await Promise.race([next, sleep(400, 'nothing')])).toBe('nothing');
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(follower.connection.isOpen).toBe(true);
  });
});

describe('the end of a server', () => {
  async function followUntilLost(lose: () => unknown, port?: number) {
    const follower = await Follower.start({}, port);
    await follower.until('refreshed');
    const lost = errorOf(follower.next());
    await lose();
    await lost;
    follower.connection.close();
    return lost;
  }

  it('is noticed when it is stopped', async () => {
    const lost = await followUntilLost(() => slapd.stop());
    await slapd.start();
    expect(String(lost)).toMatch(/Ldap(Closed|Result)Error/);
  });

  it('is noticed when it is killed', async () => {
    const lost = await followUntilLost(() => slapd.stop('SIGKILL'));
    await slapd.start();
    expect(lost).toBeInstanceOf(LdapClosedError);
  });

  it('is noticed when the network fails', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const lost = await followUntilLost(() => {
      proxy.cut();
    }, proxy.port);
    await proxy.stop();
    expect(lost).toBeInstanceOf(LdapClosedError);
  });

  it('during a refresh is noticed even without a message', async () => {
    const proxy = await TestProxy.start({ host: '127.0.0.1', port: slapd.port });
    const follower = await Follower.start({ idleTimeout: 100 }, proxy.port);
    proxy.freeze();
    expect(await errorOf(follower.next())).toBeInstanceOf(LdapTimeoutError);
    follower.connection.close();
    await proxy.stop();
  });
});

describe('a server that does not allow', () => {
  afterEach(() =>
    slapd.restart({ syncprov: true, acl: undefined, limits: `dn.exact="${MIRROR_DN}" size=unlimited` }),
  );

  it.each([true, false])('content synchronization is distinguished (persist: %s)', async (persist) => {
    await slapd.restart({ syncprov: false });
    const error = await errorOf(refreshOf({ persist }));
    expect(error).toBeInstanceOf(SyncRefusedError);
    expect(error.message).toBe(
      'The directory server refuses content synchronization: unavailableCriticalExtension (12)',
    );
  });

  it('access to anything except users still sends users', async () => {
    await slapd.restart({
      acl: [
        'access to attrs=userPassword by anonymous auth by * none',
        `access to dn.subtree="ou=people,${BASE_DN}" by dn.exact="${MIRROR_DN}" read by * none`,
        'access to * by * none',
      ],
    });
    expect(await refreshOf({ base: `ou=people,${BASE_DN}` })).toEqual(['ann', 'eve', 'fay', 'kid']);
    expect(await errorOf(refreshOf({}))).toMatchObject({ code: 32 });
  });

  it.each([true, false])('complete reading is reported with a remedy (persist: %s)', async (persist) => {
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=3` });
    const error = await errorOf(refreshOf({ persist }));
    expect(error).toBeInstanceOf(LimitExceededError);
    expect(error).toMatchObject({ code: 4 });
    expect(error.message).toContain(`limits dn.exact="${MIRROR_DN}" size=unlimited`);
  });
});

describe('a server that ends the synchronization', () => {
  /** An empty `refreshDelete`: the end of the refresh. */
  const refreshed = message(1, ber(0x79, octets('1.3.6.1.4.1.4203.1.9.1.4', 0x80), octets(ber(0xa1), 0x81)));

  it.each([
    ['with refresh required', [refreshed, result(1, 4096)], LdapResultError],
    ['with another error', [refreshed, result(1, 53)], LdapResultError],
    ['with success', [refreshed, result(1)], LdapClosedError],
    ['before the refresh', [result(1, 53)], SyncRefusedError],
    ['with an invalid message', [entry(1, 'cn=a')], LdapProtocolError],
  ])('%s is distinguished', async (_, answer, kind) => {
    const fake = await FakeLdapServer.start((socket) => {
      socket.once('data', () => socket.write(Buffer.concat(answer)));
    });
    const connection = await LdapConnection.connect({ host: '127.0.0.1', port: fake.port, tls: 'none' });
    const follow = async () => {
      for await (const event of followContent(connection, REQUEST))
        expect(event).toEqual({ kind: 'refreshed' });
    };
    const error = await errorOf(follow());
    expect(error.constructor).toBe(kind);
    expect(connection.isOpen).toBe(kind !== LdapProtocolError);
    connection.close();
    await fake.stop();
  });
});
