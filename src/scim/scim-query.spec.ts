import type { FastifyRequest } from 'fastify';
import { Values } from '../database/statements/statement.js';
import { exact } from '../memberships/comparable-fields.js';
import { parseFilter, readQuery, writeFilter } from './scim-query.js';
import type { ResourceType } from './scim-schemas.js';

const comparables = new Map([
  ['username', exact('u.id')],
  ['name|familyname', exact('u.family_name')],
  ['active', exact('u.is_active', 'boolean', 'boolean')],
  ['groups|value', { ...exact('o.id'), among: 'memberships m where m.user_key = u.key' }],
]);
const users = { kind: 'User', comparables } as unknown as ResourceType;

function write(filter: string) {
  const values = new Values();
  const text = writeFilter(parseFilter(filter), users, [], values);
  return [text, ...values.all];
}

describe('a filter', () => {
  it.each([
    ['userName eq "ada"', '(u.id = $1::text)', 'ada'],
    ['userName ne "ada"', '(((u.id = $1::text)) is not true)', 'ada'],
    ['USERNAME Pr', '(u.id is not null)'],
    ['userName eq "\\u00e9\\\\\\" \\u0000"', '(u.id = $1::text)', 'é\\" \uFFFD'],
    [
      'urn:ietf:params:scim:schemas:core:2.0:User:name.familyName co "x"',
      '(position($1::text in u.family_name) > 0)',
      'x',
    ],
    ['groups eq "g"', 'exists (select from memberships m where m.user_key = u.key and o.id = $1::text)', 'g'],
    [
      'groups[not (value eq "g")]',
      'exists (select from memberships m where m.user_key = u.key and (((o.id = $1::text)) is not true))',
      'g',
    ],
    [
      'active eq true and (userName sw "a" or userName ew "b")',
      '((u.is_active = $1::boolean) and ((starts_with(u.id, $2::text)) or (right(u.id, length($3::text)) = $3::text)))',
      'true',
      'a',
      'b',
    ],
  ])('becomes SQL without values in its text: %s', (filter, ...expected) => {
    expect(write(filter)).toEqual(expected);
  });

  it.each([
    'title pr',
    'urn:ietf:params:scim:schemas:core:2.0:Group:userName pr',
    'userName gt 5',
    'active co "t"',
    'userName eq',
    'userName eq "a" "b"',
    '',
    `${'('.repeat(60)}userName pr${')'.repeat(60)}`,
    `${'not '.repeat(60)}(userName pr)`,
    Array.from({ length: 60 }, () => 'userName pr').join(' or '),
    `userName eq "${'a'.repeat(5000)}"`,
    '('.repeat(1_000_000),
    `userName eq "${'\\'.repeat(1_000_000)}`,
  ])('is rejected: number %#', (filter) => {
    expect(() => write(filter)).toThrow('The filter is not valid');
  });
});

describe('the attributes of a query', () => {
  const shownBy = (query: object) => readQuery({ method: 'GET', query } as FastifyRequest).shown;
  const user = {
    userName: 'ada',
    name: { formatted: 'Ada', familyName: 'M' },
    emails: [{ value: 'a', type: 'work' }],
  };

  it.each([
    [{ attributes: 'USERNAME, name.familyName,password' }, { userName: 'ada', name: { familyName: 'M' } }],
    [{ excludedAttributes: ['name', 'emails.type'] }, { userName: 'ada', emails: [{ value: 'a' }] }],
    [{ attributes: 'userName.x' }, { userName: 'ada' }],
    [{}, user],
  ])('are picked: %j', (query, expected) => {
    expect(shownBy(query).pick(user)).toEqual(expected);
  });
});
