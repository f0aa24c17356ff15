import fc from 'fast-check';
import { LdapConnection } from '../../src/ldap/client/ldap-connection.js';
import type { Entry } from '../../src/ldap/entry.js';
import { compileFilter, parseFilter } from '../../src/ldap/filter/filter.js';
import { readPaged } from '../../src/ldap/client/paged-search.js';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd, SUFFIX, type TestSlapd } from '../support/servers/slapd.mjs';
import { repetitions } from '../support/repetitions.js';

/** Attributes with the matching rule caseIgnoreMatch, and without an order. */
const ATTRIBUTES = ['cn', 'sn', 'givenName', 'title'];
const CHARACTERS = ['a', 'b', 'A', 'B', 'é', 'É', 'e\u0301', 'ß', 'ø', '*', '(', ')', '\\', ',', ' ', '1'];
const COUNT = 60;

const text = fc
  .array(fc.constantFrom(...CHARACTERS), { minLength: 1, maxLength: 4 })
  .map((pieces) => pieces.join(''));
/** A value consists of more than space. */
const value = text.filter((each) => each.trim() !== '');
const base64 = (each: string) => Buffer.from(each).toString('base64');
const escaped = (each: string) => Buffer.from(each).toString('hex').replace(/../g, '\\$&');

const item = fc.oneof(
  fc.constantFrom(...ATTRIBUTES).map((attribute) => `(${attribute}=*)`),
  fc
    .tuple(fc.constantFrom(...ATTRIBUTES), value)
    .map(([attribute, each]) => `(${attribute}=${escaped(each)})`),
  fc
    .tuple(fc.constantFrom(...ATTRIBUTES), fc.constantFrom('', ':dn'), value)
    .map(([attribute, dn, each]) => `(${attribute}${dn}:=${escaped(each)})`),
  fc.constantFrom('(ou:dn:=People)', '(ou:dn:=alumni)', '(ou:=people)', '(uid:dn:=p1)', '(dc:DN:=example)'),
  fc
    .tuple(
      fc.constantFrom(...ATTRIBUTES),
      fc.option(value),
      fc.array(value, { maxLength: 2 }),
      fc.option(value),
    )
    .filter(([, initial, inner, final]) => (initial ?? final) !== null || inner.length > 0)
    .map(([attribute, initial, inner, final]) => {
      const pieces = [initial ?? '', ...inner, final ?? ''].map(escaped);
      return `(${attribute}=${pieces.join('*')})`;
    }),
);

const { filter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    item,
    fc.array(tie('filter'), { maxLength: 3 }).map((filters) => `(&${filters.join('')})`),
    fc.array(tie('filter'), { maxLength: 3 }).map((filters) => `(|${filters.join('')})`),
    tie('filter').map((each) => `(!${each})`),
  ),
}));

let slapd: TestSlapd;
let connection: LdapConnection;
let entries: Entry[];

beforeAll(async () => {
  const people = fc.sample(
    fc.record({ cn: value, sn: value, givenName: fc.option(value), title: fc.option(value) }),
    { numRuns: COUNT, seed: 7 },
  );
  const records = people.map(({ cn, sn, givenName, title }, index) =>
    [
      `dn: uid=p${index},ou=people,${SUFFIX}`,
      'objectClass: inetOrgPerson',
      `uid: p${index}`,
      `cn:: ${base64(cn)}`,
      `sn:: ${base64(sn)}`,
      ...(givenName === null ? [] : [`givenName:: ${base64(givenName)}`]),
      ...(title === null ? [] : [`title:: ${base64(title)}`]),
      '',
    ].join('\n'),
  );
  slapd = await startSlapd({ ldif: records.join('\n') });
  connection = await LdapConnection.connect({
    host: '127.0.0.1',
    port: slapd.port,
    tls: 'none',
    bindDn: MIRROR_DN,
    bindPassword: MIRROR_PASSWORD,
  });
  entries = await choose('(objectClass=inetOrgPerson)');
});

afterAll(async () => {
  connection.close();
  await slapd.remove();
});

async function choose(written: string): Promise<Entry[]> {
  const request = {
    base: `ou=people,${SUFFIX}`,
    scope: 'one',
    filter: parseFilter(written),
    attributes: ['*'],
  } as const;
  const chosen: Entry[] = [];
  for await (const entry of readPaged(connection, request)) chosen.push(entry);
  return chosen;
}

const names = (chosen: readonly Entry[]) => chosen.map(({ dn }) => dn).sort();

it('selects the same entries on a server and in a file', async () => {
  expect(entries).toHaveLength(COUNT);
  await fc.assert(
    fc.asyncProperty(filter, async (written) => {
      expect(names(await choose(written))).toEqual(names(entries.filter(compileFilter(written))));
    }),
    { numRuns: repetitions({ usually: 150, long: 400 }) },
  );
});

it('sends bytes that are not text to the server unchanged', async () => {
  const record = `dn: uid=p0,ou=people,${SUFFIX}\nchangetype: modify\nadd: userPassword\nuserPassword:: ${Buffer.from([0xff, 0x00, 0xc3]).toString('base64')}\n`;
  expect((await slapd.modify(record)).stderr).toBe('');
  await slapd.restart({ acl: ['access to * by * read'] });
  connection = await LdapConnection.connect({ host: '127.0.0.1', port: slapd.port, tls: 'none' });
  expect(names(await choose('(userPassword=\\ff\\00\\c3)'))).toEqual([`uid=p0,ou=people,${SUFFIX}`]);
  expect(await choose('(userPassword=\\ff\\00)')).toEqual([]);
});

it('supports ordering and approximate matches', async () => {
  expect(names(await choose('(&(createTimestamp>=20000101000000Z)(uid=p1))'))).toHaveLength(1);
  expect(await choose('(createTimestamp<=20000101000000Z)')).toEqual([]);
  expect(names(await choose('(uid~=p1)'))).toContain(`uid=p1,ou=people,${SUFFIX}`);
});
