import { Counts } from './access-counts.js';
import { onlookerOf, OTHERS } from './audit-actor.js';

const DAY = '2030-01-15';
const onlooker = (id: string) => ({ principal: `client:${id}`, actingFor: '' });

describe('counts that wait', () => {
  it('add up what is shown to the same on the same day, field by field', () => {
    const counts = new Counts(10);
    counts.add(DAY, onlooker('a'), new Map([[{ fields: ['User.id', 'User.name'], people: [50, 0] }, 3]]));
    counts.add(DAY, onlooker('a'), new Map([[{ fields: ['User.id'], people: [1] }, 1]]));
    counts.add('2030-01-16', onlooker('a'), new Map([[{ fields: ['User.id'], people: [1] }, 1]]));
    expect(counts.take(10)).toEqual([
      { day: DAY, ...onlooker('a'), field: 'User.id', requests: 4, people: 151 },
      { day: '2030-01-16', ...onlooker('a'), field: 'User.id', requests: 1, people: 1 },
    ]);
    expect(counts.size).toBe(0);
  });

  it('lose names, and no number, when there is no more room', () => {
    const counts = new Counts(2);
    for (const id of ['a', 'b', 'c', 'd', 'a']) {
      counts.add(DAY, onlooker(id), new Map([[{ fields: ['User.id'], people: [2] }, 1]]));
    }
    expect(counts.take(10)).toEqual([
      { day: DAY, ...onlooker('a'), field: 'User.id', requests: 2, people: 4 },
      { day: DAY, ...onlooker('b'), field: 'User.id', requests: 1, people: 2 },
      { day: DAY, ...OTHERS, field: 'User.id', requests: 2, people: 4 },
    ]);
  });
});

describe('who is shown something', () => {
  it('has a name that can be stored, whatever an issuer spells', () => {
    const principal = {
      kind: 'ACCESS_TOKEN',
      countedAs: '',
      scopes: new Set(),
      clientId: `app\0\ud800${'x'.repeat(5000)}`,
      subject: null,
      serviceAccountId: null,
      expiresAt: null,
    } as const;
    const { principal: name, actingFor } = onlookerOf({ ...principal, scopes: new Set() });
    expect(name.isWellFormed() && !name.includes('\0')).toBe(true);
    expect([name.length, actingFor]).toEqual(['client:'.length + 200, '']);
    expect(onlookerOf({ ...principal, scopes: new Set(), clientId: null, subject: 'anna' })).toEqual({
      principal: 'access-token',
      actingFor: 'anna',
    });
  });
});
