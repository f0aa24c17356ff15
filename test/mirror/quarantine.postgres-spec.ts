import { randomUUID } from 'node:crypto';
import {
  BASE_DN,
  buildLdif,
  groupDn,
  personDn,
  PICTURE,
  type TestGroup,
  type TestPerson,
} from '../support/builders/directory.js';
import { readStatus } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const CROWD = Array.from({ length: 1000 }, (_, index) => `crowd-${index}`);
const INVALID = Buffer.from([0x41, 0xff, 0x42]).toString('base64');
const encode = (text: string) => Buffer.from(text).toString('base64');
const SAME_UUID = randomUUID();
/** Characters of three bytes each, which PostgreSQL cannot compress. */
const wide = (length: number, first = 0x4e00) =>
  String.fromCodePoint(...Array.from({ length }, (_, index) => first + ((index * 7919) % 20_000)));
/** Of four bytes each. */
const astral = (length: number) => wide(length, 0x20000);

function buildDirectory(): string {
  const oversize = Buffer.concat([PICTURE, Buffer.alloc(16_000_000)]);
  const people: TestPerson[] = [
    ...CROWD.map((id) => ({ id })),
    { id: 'anna', name: 'Anna', photo: PICTURE },
    { id: 'bad-photo', photo: Buffer.from('no picture'), picture: oversize },
    { id: 'long-name', name: 'x'.repeat(10_000) },
    { id: 'same-uuid-1', uuid: SAME_UUID },
    { id: 'same-uuid-2', uuid: SAME_UUID },
    { id: 'twice' },
    { id: 'nul', email: 'a\0b', givenName: 'Nul' },
    { id: 'long-year', schoolYear: 'y'.repeat(500) },
    { id: 'long-email', email: `${'e'.repeat(600)}@example.org` },
  ];
  const groups: TestGroup[] = [
    { id: 'crowd', members: CROWD },
    { id: 'empty', members: ['@empty'] },
    { id: wide(140), name: wide(390), members: ['anna'] },
    { id: wide(190), name: astral(256), members: ['anna'] },
    { id: `too-${wide(140)}`, name: wide(460), members: ['anna'] },
    { id: 'ring-1', members: ['@ring-2', 'anna'] },
    { id: 'ring-2', members: ['@ring-1'] },
    { id: 'script', website: 'javascript:alert(1)' },
    { id: 'dangling', members: ['anna', ...Array.from({ length: 1000 }, (_, index) => `missing-${index}`)] },
  ];
  return [
    buildLdif(people, groups),
    `dn: uid=other,ou=elsewhere,ou=people,${BASE_DN}\nobjectClass: inetOrgPerson\nuid: TWICE\ncn: Other\n`,
    `dn: cn=no id,ou=people,${BASE_DN}\nobjectClass: inetOrgPerson\ncn: No id\n`,
    `dn: ${personDn('no-name')}\nobjectClass: inetOrgPerson\nuid: no-name\n`,
    `dn: ${personDn('undecodable')}\nobjectClass: inetOrgPerson\nuid: undecodable\ncn: Undecodable\ngivenName:: ${INVALID}\n`,
    `dn: ${personDn('lines')}\nobjectClass: inetOrgPerson\nuid: lines\ncn:: ${encode('Two\nLines')}\nsn:: ${encode('Bell\u0007')}\njpegPhoto;binary:: ${PICTURE.toString('base64')}\n`,
    `dn: ${personDn('by-url')}\nobjectClass: inetOrgPerson\nuid: by-url\ncn: By URL\nsn: URL\njpegPhoto:< file:///etc/passwd\naudio:< file:///etc/passwd\n`,
    `dn: ${groupDn('by-url')}\nobjectClass: groupOfNames\ncn:: ${encode('by\turl')}\nmember: ${personDn('by-url')}\nmember:< file:///etc/passwd\n`,
    `dn: ${groupDn('spelled')}\nobjectClass: groupOfNames\ncn: spelled\nmember: UID=Anna , ou=People,DC=example, dc=org\nmember:: ${INVALID}\nmember: uid=\\63rowd-1,ou=people,${BASE_DN}\n`,
  ].join('\n');
}

describe('a directory with invalid entries', () => {
  const service = TestService.forSuite(() => ({ ldif: buildDirectory() }));
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  async function sendRequest(query: string): Promise<unknown> {
    return (await service.query(query, { authorization })).data;
  }

  it('is mirrored without them', async () => {
    expect(await readStatus(service)).toMatchObject({ state: 'IDLE', blockedReason: null });
    expect(await sendRequest('{ users(first: 0) { totalCount } groups(first: 0) { totalCount } }')).toEqual({
      users: { totalCount: CROWD.length + 8 },
      groups: { totalCount: 10 },
    });
  });

  it('has its reasons, one for each skipped entry or attribute', async () => {
    const outcome = await service.synchronize({ dryRun: true });
    const { quarantined } = outcome.kind === 'planned' ? outcome.changes : { quarantined: [] };
    const reasons = quarantined.map(({ dn, attribute, reason }) =>
      [/^\w+=([^,]+)/.exec(dn)?.[1], attribute, reason].filter((part) => part !== null).join(' '),
    );
    expect(reasons.sort()).toEqual(
      [
        'bad-photo jpegPhoto is not a picture in JPEG, PNG, GIF, WebP or AVIF',
        'by-url jpegPhoto has a value by URL, which is not read',
        'by-url member has a value by URL, which is not read',
        'bad-photo profilePicture has more than 16000000 bytes',
        'long-email mail has more than 512 characters',
        'long-name cn has more than 512 characters',
        'long-name has no usable displayName or cn, which is its name',
        'long-year schoolYear has more than 64 characters',
        'no id has no usable uid, which is its id',
        'no-name has no usable displayName or cn, which is its name',
        'nul mail has a NUL character',
        'other has the same id as another entry',
        'same-uuid-1 has the same UUID as another entry',
        'same-uuid-2 has the same UUID as another entry',
        'script labeledURI is not an http or https URL',
        'spelled member has 1 values that are not UTF-8',
        `too-${wide(140)} has an id and a name of more than 1600 bytes`,
        'twice has the same id as another entry',
        'undecodable givenName is not UTF-8',
      ].sort(),
    );
  });

  it('resolves a member in every spelling of the DN, beside an invalid value', async () => {
    expect(
      await sendRequest('{ group(group: {id: "spelled"}) { members(first: 5) { nodes { user { id } } } } }'),
    ).toEqual({ group: { members: { nodes: [{ user: { id: 'anna' } }, { user: { id: 'crowd-1' } }] } } });
  });

  it('has groups of ten thousand members, of none, and in cycles', async () => {
    expect(
      await sendRequest(`{
        crowd: group(group: {id: "crowd"}) { members(last: 1) { totalCount nodes { user { id } } } }
        empty: group(group: {id: "empty"}) { members(first: 1) { totalCount nodes { user { id } } } }
        ring: group(group: {id: "ring-2"}) { members(first: 1) { totalCount nodes { user { id } role { inheritedFrom { id } } } } }
      }`),
    ).toEqual({
      crowd: { members: { totalCount: 1000, nodes: [{ user: { id: 'crowd-999' } }] } },
      empty: { members: { totalCount: 0, nodes: [] } },
      ring: {
        members: {
          totalCount: 1,
          nodes: [{ user: { id: 'anna' }, role: { inheritedFrom: [{ id: 'ring-1' }] } }],
        },
      },
    });
  });
});
