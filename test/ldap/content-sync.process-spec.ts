import { setTimeout as sleep } from 'node:timers/promises';
import type { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import { followContent } from '../../src/ldap/sync/content-sync.js';
import { RefreshRequiredError } from '../../src/ldap/sync/content-sync-error.js';
import { parseFilter } from '../../src/ldap/filter/filter-parser.js';
import { LdapResultError } from '../../src/ldap/client/ldap-error.js';
import type { ContentEvent } from '../../src/ldap/sync/sync-stage.js';
import { BASE_DN, buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { errorOf } from '../support/error-of.js';
import {
  additionLines,
  connectTo,
  joinRecords,
  removalLines,
  renameLines,
  LdapReplica,
  REQUEST,
  setSnLines,
} from '../support/servers/replica.js';
import { startSlapd, type TestSlapd } from '../support/servers/slapd.mjs';

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

async function modify(...records: string[][]): Promise<void> {
  const { stderr } = await slapd.modify(joinRecords(...records));
  expect(stderr).toBe('');
}

describe('a refresh', () => {
  const replica = new LdapReplica(() => slapd);

  it('without a cookie returns everything, and a cookie', async () => {
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'bob', 'cid', 'club', 'dan', 'eve']);
    expect(replica.kinds).toEqual([...Array<string>(6).fill('entry'), 'refreshed']);
    expect(replica.cookie).not.toBeNull();
    expect([...replica.entries.keys()][0]).toMatch(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  });

  it('without changes returns nothing, and keeps the cookie', async () => {
    const before = { names: replica.names, cookie: replica.cookie };
    await replica.refresh();
    expect(replica.kinds).toEqual(['refreshed']);
    expect({ names: replica.names, cookie: replica.cookie }).toEqual(before);
  });

  it('returns only changed, added, renamed and deleted entries', async () => {
    const [uuid] = [...replica.entries].find(([, { dn }]) => dn === personDn('cid')) ?? [''];
    await modify(
      setSnLines('ann', 'New'),
      additionLines('fay'),
      renameLines('cid', 'kid'),
      removalLines('bob'),
    );
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'club', 'dan', 'eve', 'fay', 'kid']);
    expect(replica.entries.get(uuid)?.dn).toBe(personDn('kid'));
    expect([...replica.entries.values()].find(({ dn }) => dn === personDn('ann'))?.sn).toBe('New');
    expect(replica.kinds.sort()).toEqual(['deleted', 'entry', 'entry', 'entry', 'refreshed']);
  });

  it('reports an entry that no longer matches the filter as deleted', async () => {
    const request = { filter: parseFilter('(sn=New)') };
    const chosen = new LdapReplica(() => slapd);
    await chosen.refresh(request);
    expect(chosen.names).toEqual(['ann']);
    await modify(setSnLines('ann', 'Old'), setSnLines('dan', 'New'));
    await chosen.refresh(request);
    expect(chosen.names).toEqual(['dan']);
  });

  it('after the loss of the session log lists the remaining entries', async () => {
    const [uuid] = [...replica.entries].find(([, { dn }]) => dn === personDn('eve')) ?? [''];
    await replica.refresh();
    await modify(removalLines('dan'), setSnLines('kid', 'New'));
    // The session log is in the memory of the server.
    await slapd.restart();
    await replica.refresh();
    expect(replica.kinds).toEqual(['present', 'entry', 'refreshed']);
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
    expect(replica.entries.has(uuid)).toBe(true);
  });

  it('from an old cookie returns everything again', async () => {
    replica.cookie = Buffer.from('rid=000,csn=20200101000000.000000Z#000000#000#000000');
    replica.entries.set('gone', { dn: personDn('gone'), sn: undefined });
    await replica.refresh();
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it.each([false, true])('from an unknown cookie has to start again (persist: %s)', async (persist) => {
    // The last cookie is of a future time: the server has lost what its reader knows.
    for (const cookie of [
      'garbage',
      'x'.repeat(5000),
      'rid=000,csn=29990101000000.000000Z#000000#000#000000',
    ]) {
      const stranger = new LdapReplica(() => slapd);
      stranger.cookie = Buffer.from(cookie);
      const error = await errorOf(stranger.refresh({ persist }));
      expect(error).toBeInstanceOf(RefreshRequiredError);
    }
  });

  it('of a missing base is an error', async () => {
    const error = await errorOf(new LdapReplica(() => slapd).refresh({ base: `ou=nowhere,${BASE_DN}` }));
    expect(error).toBeInstanceOf(LdapResultError);
    expect(error).toMatchObject({ code: 32 });
  });
});

describe('following', () => {
  let connection: LdapConnection;
  let events: AsyncGenerator<ContentEvent, void>;
  const stop = new AbortController();
  const replica = new LdapReplica(() => slapd);

  /** Reads events until an expected one. */
  async function follow(isWanted: (event: ContentEvent) => boolean): Promise<ContentEvent> {
    for (;;) {
      const { value } = await events.next();
      if (value === undefined) throw new Error('The events ended');
      replica.take(value);
      if (isWanted(value)) return value;
    }
  }

  beforeAll(async () => {
    connection = await connectTo(slapd.port);
    // Silence is not an error after the refresh.
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

  it('returns every change when it happens, each with a cookie', async () => {
    const changes: [string[], ContentEvent['kind'], string[]][] = [
      [additionLines('gus'), 'entry', ['ann', 'club', 'eve', 'fay', 'gus', 'kid']],
      [setSnLines('gus', 'New'), 'entry', ['ann', 'club', 'eve', 'fay', 'gus', 'kid']],
      [renameLines('gus', 'gil'), 'entry', ['ann', 'club', 'eve', 'fay', 'gil', 'kid']],
      [removalLines('gil'), 'deleted', ['ann', 'club', 'eve', 'fay', 'kid']],
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

  it('returns every one of many changes', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    await modify(...ids.map(additionLines));
    await follow((event) => event.kind === 'entry' && event.entry.dn === personDn('many-199'));
    await modify(...ids.map(removalLines));
    while (replica.entries.size > 5) await follow(({ kind }) => kind === 'deleted');
    expect(replica.names).toEqual(['ann', 'club', 'eve', 'fay', 'kid']);
  });

  it('returns a cookie from which a refresh continues', async () => {
    await modify(setSnLines('eve', 'New'));
    const other = new LdapReplica(() => slapd);
    other.cookie = replica.cookie;
    await other.refresh();
    expect(other.names).toEqual(['eve']);
    await follow(({ kind }) => kind === 'entry');
  });

  it('continues without changes, beside other searches, until its signal', async () => {
    const next = events.next();
    const other = connection.search({ ...REQUEST, filter: parseFilter('(uid=ann)') });
    expect((await other.next()).value).toMatchObject({ kind: 'entry' });
    expect(await Promise.race([next, sleep(400, 'nothing')])).toBe('nothing');
    stop.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(connection.isOpen).toBe(true);
  });
});
