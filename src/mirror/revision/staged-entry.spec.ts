import { hash } from 'node:crypto';
import { builtInConfig } from '../../../test/support/builders/built-in-config.js';
import { Entry } from '../../ldap/entry.js';
import { bytesOfRaw, EntryStager } from './staged-entry.js';

const UUID = '13c9344a-4b2d-4c04-9990-c46e3e228514';
const INVALID = Buffer.from([0x41, 0xff]);
const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'hex');

const stager = new EntryStager(builtInConfig().directory.mapping, {
  put: (bytes) => {
    const isUsable = !bytes.equals(INVALID);
    return Promise.resolve(
      isUsable ? { sha256: Buffer.from(sha256(bytes), 'hex') } : { reason: 'is no picture' },
    );
  },
  flush: () => Promise.resolve(),
});

type Values = Record<string, (string | Buffer)[]>;

function stage(kind: 'person' | 'group', dn: string, values: Values, stamp = 'stamp') {
  const attributes = Object.entries(values).map(
    ([name, each]) => [name, each.map((value) => Buffer.from(value))] as const,
  );
  return stager.stage(kind, UUID, new Entry(dn, attributes), stamp);
}

const person = (values: Values, stamp?: string) =>
  stage(
    'person',
    'uid=anna',
    { uid: ['anna'], cn: ['Anna'], sn: ['Berg'], entryUUID: [UUID], ...values },
    stamp,
  );
const group = (values: Values) => stage('group', 'cn=club', { cn: ['club'], entryUUID: [UUID], ...values });

describe('the attributes of a staged entry', () => {
  it('are all values as they are in LDAP, of the attributes that are read', async () => {
    const { attributes } = await person({
      mail: [' a@b.c ', 'd@e.f'],
      'givenName;lang-en': ['Ann'],
      givenName: [INVALID, 'An\0na'],
      userPassword: ['secret'],
    });
    expect(attributes).toEqual({
      uid: ['anna'],
      cn: ['Anna'],
      sn: ['Berg'],
      mail: [' a@b.c ', 'd@e.f'],
      'givenname;lang-en': ['Ann'],
      givenname: [INVALID, Buffer.from('An\0na')].map((bytes) => ({ base64: bytes.toString('base64') })),
    });
    expect(attributes['givenname']?.map(bytesOfRaw)).toEqual([INVALID, Buffer.from('An\0na')]);
  });

  it('have the SHA-256 of pictures, and no members', async () => {
    const photo = Buffer.from([1]);
    const { attributes, row, notes } = await person({ jpegPhoto: [photo], profilePicture: [INVALID] });
    expect(attributes).toMatchObject({
      jpegphoto: [{ sha256: sha256(photo) }],
      profilepicture: [{ sha256: sha256(INVALID) }],
    });
    expect(row).toMatchObject({ photo: `\\x${sha256(photo)}`, picture: null });
    expect(notes).toEqual([['profilePicture', 'is no picture']]);
    expect((await group({ member: ['uid=anna'], description: ['Chess'] })).attributes).toEqual({
      cn: ['club'],
      description: ['Chess'],
    });
  });
});

describe('the digests of a staged entry', () => {
  it('are equal for the same entry with another stamp, and for other orders of members', async () => {
    const [one, other] = [await person({}, 'one'), await person({}, 'other')];
    expect([other.digest, other.content]).toEqual([one.digest, one.content]);
    const members = ['uid=anna', 'uid=ben', 'uid=cleo'];
    const ordered = await group({ member: members });
    expect((await group({ member: members.toReversed() })).digest).toBe(ordered.digest);
    expect((await group({ member: members.slice(1) })).digest).not.toBe(ordered.digest);
  });

  it('differ in what viewers see only for a value that a field has', async () => {
    const before = await person({ mail: ['a@b.c', 'd@e.f'] });
    const second = await person({ mail: ['a@b.c', 'g@h.i'] });
    expect([second.content === before.content, second.digest === before.digest]).toEqual([true, false]);
    expect((await person({ mail: ['g@h.i'] })).content).not.toBe(before.content);
  });
});

describe('an entry without an id', () => {
  it('has the reason, and no row, names or references', async () => {
    expect(await person({ uid: ['  '] })).toMatchObject({
      reason: 'has no usable uid, which is its id',
      ...{ idFolded: null, row: null, names: [], references: [] },
    });
  });
});
