import { vectorOf } from '../../ldap/sync/csn-vector.js';
import { numbersOf, withNeeded } from './known-numbers.js';
import {
  compareStates,
  describeHidden,
  formatPosition,
  parsePosition,
  reachedOf,
  refusalsOf,
  stateOf,
  mergeStates,
} from './position.js';

const OLD = '20260101000000.000000Z#000000#001#000000';
const NEW = '20260102000000.000000Z#000000#001#000000';
const OTHER = '20260101000000.000000Z#000000#002#000000';

const NOTHING = { person: null, group: null };

const cookies = (person: string, group: string) =>
  formatPosition({ kind: 'cookies', person: Buffer.from(person), group: Buffer.from(group) });

const stateFrom = (...positions: [string, string]) => stateOf(parsePosition(cookies(...positions)));

describe('a position', () => {
  it('is the inverse of writing', () => {
    const state = { person: vectorOf([OLD, OTHER]), group: null };
    const reached = { person: vectorOf([NEW, OTHER]), group: null };
    const look = { kind: 'look', state, reached, since: '1', latest: '2' } as const;
    expect(parsePosition(formatPosition(look))).toEqual(look);
    const refused = { ...look, refusals: ['The server refuses pages'] };
    expect(refusalsOf(parsePosition(formatPosition(refused)))).toEqual(refused.refusals);
    expect(parsePosition(JSON.stringify({ token: OLD, since: '1', latest: '2' }))).toEqual({
      ...look,
      state: NOTHING,
      reached: NOTHING,
    });
    expect(parsePosition(cookies(`rid=000,csn=${OLD}`, 'opaque'))).toEqual({
      kind: 'cookies',
      person: Buffer.from(`rid=000,csn=${OLD}`),
      group: Buffer.from('opaque'),
    });
    const count = { kind: 'count', origin: 'DC1 a', latest: { 'dc=a': 7 }, isDoubtful: false } as const;
    expect(parsePosition(formatPosition(count))).toEqual(count);
    expect(stateOf(count)).toEqual(NOTHING);
    for (const position of [
      { ...count, included: { a: 7 }, showsOthers: true, refusals: ['a'] },
      { kind: 'hash', refusals: ['a'] } as const,
      { kind: 'hash', numbers: { origin: 'A', latest: {}, included: { a: 7 } }, refusals: ['a'] } as const,
      { kind: 'cookies', person: Buffer.from('a'), group: Buffer.from('b'), refusals: ['a'] } as const,
    ]) {
      expect(parsePosition(formatPosition(position))).toEqual(position);
      expect(refusalsOf(position)).toEqual(['a']);
    }
    const broken = ['{"count":null}', '{"count":{"origin":"a","latest":{"dc=a":"7"}}}'];
    for (const text of [null, '', 'null', '{}', '7', ...broken]) expect(parsePosition(text)).toBeNull();
  });

  it('has the numbers of a server that is followed in another way', () => {
    const numbers = { origin: 'A', latest: { 'dc=a': 7 }, included: { a: 5 }, showsOthers: true } as const;
    const cookie = Buffer.from('opaque');
    const pushed = formatPosition({ kind: 'cookies', person: cookie, group: cookie, numbers });
    const count = formatPosition({ kind: 'count', ...numbers, included: { a: 6 }, isDoubtful: false });
    expect(numbersOf(parsePosition(pushed))).toEqual(numbers);
    expect(numbersOf(parsePosition(cookies('a', 'b')))).toBeNull();
    expect(numbersOf(null)).toBeNull();
    expect(numbersOf(parsePosition(withNeeded(pushed, count)))).toMatchObject({ included: { a: 5 } });
  });

  it('after a reading that changed nothing needs of other servers what was needed before', () => {
    const position = (latest: number, included?: Record<string, number>) =>
      formatPosition({
        ...{ kind: 'count', origin: 'DC1 a', latest: { 'dc=a': latest } },
        ...{ included, showsOthers: true, isDoubtful: false },
      });
    const needed = position(7, { a: 5, b: 3 });
    expect(withNeeded(needed, position(9, { a: 9, b: 3 }))).toBe(position(9, { a: 5, b: 3 }));
    for (const [known, reached] of [
      [needed, position(9, { a: 9, b: 2 })],
      [needed, cookies('a', 'b')],
      [position(7), position(9, { a: 9 })],
      [null, needed],
      [needed, null],
    ] as const)
      expect(withNeeded(known, reached)).toBe(reached);
  });

  it('of an earlier release with the ID of a server is not read', () => {
    expect(parsePosition(cookies(`rid=000,sid=001,csn=${OLD}`, `rid=000,csn=${OLD}`))).toBeNull();
  });
});

describe('the state of a directory', () => {
  it('is compared for users and for groups', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${OTHER}`);
    const current = stateFrom(`rid=000,csn=${NEW};${OTHER}`, `rid=000,csn=${OLD}`);
    expect(compareStates(known, current)).toEqual({ behind: [2], added: [2, 1] });
    expect(compareStates(known, known)).toEqual({ behind: [], added: [] });
  });

  it('of a poll is that of its contextCSN, and includes that of its entries', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${OLD}`);
    const state = { person: vectorOf([OLD, OTHER]), group: vectorOf([OLD]) };
    const reached = { person: vectorOf([NEW]), group: vectorOf([OLD]) };
    const look = { kind: 'look', state, reached, since: '', latest: '' } as const;
    expect(compareStates(known, stateOf(look))).toEqual({ behind: [1], added: [2] });
    expect(compareStates(known, reachedOf(look))).toEqual({ behind: [], added: [] });
    expect(reachedOf(parsePosition(cookies(`rid=000,csn=${NEW}`, 'opaque')))).toEqual({
      person: vectorOf([NEW]),
      group: null,
    });
  });

  it('without a visible contextCSN is not compared', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${NEW}`);
    expect(compareStates(known, NOTHING)).toEqual({ behind: [], added: [] });
    expect(describeHidden(known, NOTHING)).toMatch(/no longer shows its contextCSN/);
    expect(describeHidden(NOTHING, known)).toBeNull();
    expect(mergeStates({ person: null, group: null }, known)).toEqual(known);
  });

  it('is not set back by a crash', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${OLD}`);
    const shown = stateFrom(`rid=000,csn=${OLD}`, `rid=000,csn=${NEW}`);
    expect(mergeStates(shown, known)).toEqual(stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${NEW}`));
  });
});
