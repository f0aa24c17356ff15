import { BerWriter } from 'ldapts';
import type { SearchMessage } from '../client/ldap-connection.js';
import { RefreshRequiredError } from './content-sync-error.js';
import { Entry } from '../entry.js';
import { LdapProtocolError } from '../client/ldap-error.js';
import { type ContentEvent, SyncStage } from './sync-stage.js';

const STATE = '1.3.6.1.4.1.4203.1.9.1.2';
const DONE = '1.3.6.1.4.1.4203.1.9.1.3';
const INFO = '1.3.6.1.4.1.4203.1.9.1.4';
const OCTETS = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const UUID = '00112233-4455-6677-8899-aabbccddeeff';
const ENTRY = new Entry('cn=a', []);

function encode(tag: number, write: (writer: BerWriter) => void): Buffer {
  const writer = new BerWriter();
  writer.startSequence(tag);
  write(writer);
  writer.endSequence();
  return writer.buffer;
}

function entry(state: number, cookie?: string, uuid = OCTETS): SearchMessage {
  const value = encode(0x30, (writer) => {
    writer.writeEnumeration(state);
    writer.writeBuffer(uuid, 0x04);
    if (cookie !== undefined) writer.writeString(cookie);
  });
  return { kind: 'entry', entry: ENTRY, controls: [{ oid: STATE, value }] };
}

function info(tag: number, cookie?: string, flag?: boolean, uuids?: readonly Buffer[]): SearchMessage {
  const value = encode(tag, (writer) => {
    if (cookie !== undefined) writer.writeString(cookie);
    if (flag !== undefined) writer.writeBoolean(flag);
    if (uuids === undefined) return;
    writer.startSequence(0x31);
    for (const uuid of uuids) writer.writeBuffer(uuid, 0x04);
    writer.endSequence();
  });
  return { kind: 'intermediate', oid: INFO, value };
}

const newCookie = (cookie: string): SearchMessage => ({
  kind: 'intermediate',
  oid: INFO,
  value: Buffer.concat([Buffer.of(0x80, cookie.length), Buffer.from(cookie)]),
});
const refreshDelete = (cookie?: string, isDone?: boolean) => info(0xa1, cookie, isDone);
const refreshPresent = (cookie?: string, isDone?: boolean) => info(0xa2, cookie, isDone);
const idSet = (refreshDeletes: boolean, cookie?: string) => info(0xa3, cookie, refreshDeletes, [OCTETS]);

function done(cookie?: string, refreshDeletes?: boolean): SearchMessage {
  const value = encode(0x30, (writer) => {
    if (cookie !== undefined) writer.writeString(cookie);
    if (refreshDeletes !== undefined) writer.writeBoolean(refreshDeletes);
  });
  return { kind: 'done', controls: [{ oid: DONE, value }], references: 0 };
}

/** The events, with cookies as text. */
function run(hasCookie: boolean, ...messages: SearchMessage[]): unknown[] {
  const stage = new SyncStage(hasCookie);
  return messages.flatMap((message) => [...stage.take(message)]).map(show);
}

function show(event: ContentEvent): unknown {
  const cookie = 'cookie' in event ? (event.cookie?.toString() ?? null) : undefined;
  if (event.kind === 'refreshed') return [event.kind, event.unmentionedAreGone, cookie];
  return cookie === undefined ? [event.kind] : [event.kind, cookie];
}

const ADD = 1;
const MODIFY = 2;

describe('the end of a refresh', () => {
  it.each<[string, boolean, SearchMessage[], unknown[]]>([
    ['without an own cookie, for any flag', false, [entry(ADD), done('c', true)], ['refreshed', true, 'c']],
    ['after the present phase', true, [idSet(false), done('c')], ['refreshed', true, 'c']],
    ['after the delete phase', true, [idSet(true), done('c', true)], ['refreshed', false, 'c']],
    [
      'after the present phase and the delete phase',
      true,
      [idSet(false), refreshPresent('b', false), entry(3), done('c', true)],
      ['refreshed', true, 'c'],
    ],
    ['without a new cookie', true, [done(undefined, true)], ['refreshed', false, null]],
    ['with an earlier cookie', true, [newCookie('b'), done(undefined, true)], ['refreshed', false, 'b']],
    [
      'that continues, after the present phase',
      true,
      [entry(0), refreshPresent('c')],
      ['refreshed', true, 'c'],
    ],
    [
      'that continues, after the delete phase',
      true,
      [entry(3), refreshDelete('c')],
      ['refreshed', false, 'c'],
    ],
    [
      'that continues, without an own cookie',
      false,
      [entry(ADD), refreshDelete('c', true)],
      ['refreshed', true, 'c'],
    ],
  ])('%s', (_, hasCookie, messages, expected) => {
    expect(run(hasCookie, ...messages).at(-1)).toEqual(expected);
  });

  it('occurs once', () => {
    const messages = [refreshPresent('a'), refreshDelete('b'), refreshPresent(), done('c', true)];
    expect(run(true, ...messages)).toEqual([
      ['refreshed', true, 'a'],
      ['cookie', 'b'],
    ]);
  });

  it('without a mode is an error', () => {
    const message: SearchMessage = { kind: 'done', controls: [], references: 0 };
    expect(() => run(true, message)).toThrow(LdapProtocolError);
  });

  it('with an empty cookie for an own one requires a restart', () => {
    expect(() => run(true, entry(ADD), done('', true))).toThrow(RefreshRequiredError);
    expect(() => run(true, entry(ADD), refreshDelete('', true))).toThrow(RefreshRequiredError);
    expect(run(false, done('', true))).toEqual([['refreshed', true, null]]);
  });
});

describe('cookies', () => {
  it('are delayed until the refresh is complete, and then reported immediately', () => {
    const messages = [entry(ADD, 'a'), entry(3, 'b'), idSet(true, 'c'), idSet(false, 'd'), newCookie('e')];
    expect(run(true, ...messages)).toEqual([
      ['entry', null],
      ['deleted', null],
      ['deleted', null],
      ['present'],
    ]);
    expect(run(true, refreshDelete(), ...messages)).toEqual([
      ['refreshed', false, null],
      ['entry', 'a'],
      ['deleted', 'b'],
      ['deleted', 'c'],
      ['present'],
      ['cookie', 'd'],
      ['cookie', 'e'],
    ]);
  });
});

describe('a message', () => {
  it('contains an entry, or the identities of entries', () => {
    const stage = new SyncStage(true);
    const events = [entry(0), entry(ADD), entry(MODIFY), entry(3), idSet(true), idSet(false)].flatMap(
      (message) => [...stage.take(message)],
    );
    expect(events).toEqual([
      { kind: 'present', uuids: [UUID] },
      { kind: 'entry', uuid: UUID, entry: ENTRY, cookie: null },
      { kind: 'entry', uuid: UUID, entry: ENTRY, cookie: null },
      { kind: 'deleted', uuids: [UUID], cookie: null },
      { kind: 'deleted', uuids: [UUID], cookie: null },
      { kind: 'present', uuids: [UUID] },
    ]);
  });

  it.each<[string, SearchMessage]>([
    ['an entry without a state', { kind: 'entry', entry: ENTRY, controls: [] }],
    ['an entry with an unknown state', entry(4)],
    ['a UUID of another length', entry(ADD, 'a', OCTETS.subarray(1))],
    ['an unknown type', info(0xa4)],
    ['a type without content', { kind: 'intermediate', oid: INFO, value: Buffer.alloc(0) }],
  ])('that is %s is an error', (_, message) => {
    expect(() => run(true, message)).toThrow(LdapProtocolError);
  });

  it('of another type is ignored', () => {
    expect(run(true, { kind: 'intermediate', oid: '1.2.3', value: Buffer.from('x') })).toEqual([]);
  });
});
