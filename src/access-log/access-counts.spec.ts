import { AccessCounts, actorOf, OTHERS } from './access-counts.js';

const DAY = '2030-01-15';
const actor = (id: string) => ({ principal: `client:${id}`, actingFor: '' });

describe('pending access counts', () => {
  it('add up accesses of the same principal on the same day, by field', () => {
    const counts = new AccessCounts(10);
    counts.add(DAY, actor('a'), new Map([[{ fields: ['User.id', 'User.name'], people: [50, 0] }, 3]]));
    counts.add(DAY, actor('a'), new Map([[{ fields: ['User.id'], people: [1] }, 1]]));
    counts.add('2030-01-16', actor('a'), new Map([[{ fields: ['User.id'], people: [1] }, 1]]));
    expect(counts.take(10)).toEqual([
      { day: DAY, ...actor('a'), field: 'User.id', requests: 4, people: 151 },
      { day: '2030-01-16', ...actor('a'), field: 'User.id', requests: 1, people: 1 },
    ]);
    expect(counts.size).toBe(0);
  });

  it('lose names, but no number, above the capacity', () => {
    const counts = new AccessCounts(2);
    for (const id of ['a', 'b', 'c', 'd', 'a']) {
      counts.add(DAY, actor(id), new Map([[{ fields: ['User.id'], people: [2] }, 1]]));
    }
    expect(counts.take(10)).toEqual([
      { day: DAY, ...actor('a'), field: 'User.id', requests: 2, people: 4 },
      { day: DAY, ...actor('b'), field: 'User.id', requests: 1, people: 2 },
      { day: DAY, ...OTHERS, field: 'User.id', requests: 2, people: 4 },
    ]);
  });
});

describe('the principal of an access', () => {
  it('has a name that can be stored, for any spelling of an issuer', () => {
    const principal = {
      kind: 'ACCESS_TOKEN',
      countedAs: '',
      scopes: new Set(),
      clientId: `app\0\ud800${'x'.repeat(5000)}`,
      subject: null,
      serviceAccountId: null,
      expiresAt: null,
    } as const;
    const { principal: name, actingFor } = actorOf({ ...principal, scopes: new Set() });
    expect(name.isWellFormed() && !name.includes('\0')).toBe(true);
    expect([name.length, actingFor]).toEqual(['client:'.length + 200, '']);
    expect(actorOf({ ...principal, scopes: new Set(), clientId: null, subject: 'anna' })).toEqual({
      principal: 'access-token',
      actingFor: 'anna',
    });
  });
});
