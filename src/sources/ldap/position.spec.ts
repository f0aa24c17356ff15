import { compareStates, formatPosition, parsePosition, stateOf } from './position.js';

const OLD = '20260101000000.000000Z#000000#001#000000';
const NEW = '20260102000000.000000Z#000000#001#000000';
const OTHER = '20260101000000.000000Z#000000#002#000000';

const cookies = (person: string, group: string) =>
  formatPosition({ kind: 'cookies', person: Buffer.from(person), group: Buffer.from(group) });

const stateFrom = (...positions: [string, string]) => stateOf(parsePosition(cookies(...positions)));

describe('a position', () => {
  it('is read as it was written', () => {
    const look = { kind: 'look', token: `${OLD} ${OTHER}`, since: '1', latest: '2' } as const;
    expect(parsePosition(formatPosition(look))).toEqual(look);
    expect(parsePosition(cookies(`rid=000,csn=${OLD}`, 'opaque'))).toEqual({
      kind: 'cookies',
      person: Buffer.from(`rid=000,csn=${OLD}`),
      group: Buffer.from('opaque'),
    });
    for (const text of [null, '', 'null', '{}', '7']) expect(parsePosition(text)).toBeNull();
  });

  it('of a former release that kept the ID of a server is none', () => {
    expect(parsePosition(cookies(`rid=000,sid=001,csn=${OLD}`, `rid=000,csn=${OLD}`))).toBeNull();
  });
});

describe('the state of a directory', () => {
  it('is compared for people and for groups', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${OTHER}`);
    const current = stateFrom(`rid=000,csn=${NEW};${OTHER}`, `rid=000,csn=${OLD}`);
    expect(compareStates(known, current)).toEqual({ behind: [2], added: [2, 1] });
    expect(compareStates(known, known)).toEqual({ behind: [], added: [] });
  });

  it('of a look is that of its token', () => {
    const state = stateOf({ kind: 'look', token: `${OLD} ${OTHER}`, since: '', latest: '' });
    expect(compareStates(stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${OLD}`), state)).toEqual({
      behind: [1],
      added: [2],
    });
  });

  it('that is not shown is not compared', () => {
    const known = stateFrom(`rid=000,csn=${NEW}`, `rid=000,csn=${NEW}`);
    expect(compareStates(known, { person: null, group: null })).toEqual({ behind: [], added: [] });
    expect(stateOf({ kind: 'look', token: null, since: '', latest: '' })).toEqual({
      person: null,
      group: null,
    });
  });
});
