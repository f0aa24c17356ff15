// The directory of the measurements: users, groups nested three levels deep, and six memberships for each user. It is always the same.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import sharp from 'sharp';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  ROOT_DN,
  ROOT_PASSWORD,
  startSlapd,
  SUFFIX,
} from '../test/support/servers/slapd.mjs';
import { runStep } from './processes.mjs';

/** Users for each group, and direct members of a group. A fifth of the groups is at the outermost level. */
const USERS_PER_GROUP = 20;
const MEMBERS = 120;

const GIVEN_NAMES =
  'Ada Anna Ben Carla Dana Émil Finn Greta Hanna Ida Jonas Karl Lena Mia Nora Otto Paul Rosa Zoë Jürgen'.split(
    ' ',
  );
const SYLLABLES = 'ber dor fel gan hol kam lin mar nau pol ros sen tal vos wes zim'.split(' ');

export const personId = (number) => `person.${number}`;
export const groupId = (number) => `group-${number}`;
export const personDn = (number) => `uid=${personId(number)},ou=people,${SUFFIX}`;
export const groupDn = (id) => `cn=${id},ou=groups,${SUFFIX}`;

/** No two users have the same name. */
function nameOf(number) {
  const given = GIVEN_NAMES[number % 20];
  const digits = [20, 320, 5120].map((divisor) => SYLLABLES[Math.floor(number / divisor) % 16]);
  const rest = Math.floor(number / 81_920);
  const family = digits.join('') + (rest === 0 ? '' : SYLLABLES[rest % 16]);
  return { given, family: family[0].toUpperCase() + family.slice(1) };
}

/** As the service orders names. */
function sortNameOf(number) {
  const { given, family } = nameOf(number);
  return `${given} ${family}`.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Search terms: mostly the beginning of a family name, often a given name with some letters of the family name. */
export function searchTerms(users, count) {
  return Array.from({ length: count }, (_, index) => {
    const { given, family } = nameOf((index * 7919) % users);
    const letters = family.toLowerCase().slice(0, 4 + (index % 5));
    return index % 5 < 3 ? letters : `${given.toLowerCase()} ${letters.slice(0, 2 + (index % 4))}`;
  });
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function makeRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function* people(users, photos) {
  for (let number = 0; number < users; number++) {
    const { given, family } = nameOf(number);
    const encoded = (text) => Buffer.from(text).toString('base64');
    yield [
      `dn: ${personDn(number)}`,
      'objectClass: inetOrgPerson',
      'objectClass: directoryPerson',
      `uid: ${personId(number)}`,
      `cn:: ${encoded(`${given} ${family}`)}`,
      `displayName:: ${encoded(`${given} ${family}`)}`,
      `givenName:: ${encoded(given)}`,
      `sn: ${family}`,
      `mail: ${personId(number)}@example.org`,
      ...(number % 12 === 0 ? [] : [`schoolYear: ${number % 12}${'ABCDE'[number % 5]}`]),
      ...(number % 5 < 3 && photos.length > 0
        ? [`jpegPhoto:: ${photos[number % photos.length].toString('base64')}`]
        : []),
    ];
  }
}

/** Members are in the order of their names, so that an LDAP client need not sort them. Nested groups follow. */
function groupRecord(id, numbers, inner = []) {
  const members = numbers
    .map((number) => [sortNameOf(number), number])
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, number]) => personDn(number));
  return [
    `dn: ${groupDn(id)}`,
    'objectClass: groupOfNames',
    'objectClass: directoryGroup',
    `cn: ${id}`,
    `displayName: Club ${id}`,
    `owner: ${personDn(numbers[0])}`,
    ...numbers.slice(1, 3).map((number) => `groupAdmin: ${personDn(number)}`),
    ...members.map((dn) => `member: ${dn}`),
    ...inner.map((each) => `member: ${groupDn(each)}`),
  ];
}

/** Four groups in five are inside another one, and of those one in four has groups inside: three levels. */
function* groups(users) {
  const count = groupsOf(users);
  const random = makeRandom(7);
  const pick = (below) => Math.floor(random() * below);
  const outermost = count / 5;
  const inside = Array.from({ length: count }, () => []);
  for (let number = outermost; number < count; number++)
    inside[number < flatFrom(users) ? pick(outermost) : outermost + pick(outermost)].push(groupId(number));
  for (let number = 0; number < count; number++) {
    const members = new Set();
    while (members.size < MEMBERS) members.add(pick(users));
    yield groupRecord(groupId(number), [...members], inside[number]);
  }
}

export const groupsOf = (users) => users / USERS_PER_GROUP;

/** The number of the first group without groups inside. */
export const flatFrom = (users) => (groupsOf(users) / 5) * 2;

/**
 * Starts slapd with the directory.
 * @param options large: sizes of further groups by id, whose members are the first users; hasPhotos
 * @returns settings of a service, the server, and a client that may change everything
 */
export async function startDirectory(resources, work, users, { large = {}, hasPhotos = false } = {}) {
  const file = join(work, 'directory.ldif');
  const photos = hasPhotos ? await makePhotos() : [];
  await runStep(`LDIF of ${users.toLocaleString('en')} users`, () => writeLdif(file, users, large, photos));
  const server = await startSlapd({ directory: join(work, 'slapd'), maxBytes: users * 20_000 + 2 ** 28 });
  resources.defer(() => server.remove());
  await runStep('slapadd', async () => {
    await server.stop();
    await server.addFile(file);
    await server.start();
  });
  const client = new Client({ url: server.url });
  await client.bind(ROOT_DN, ROOT_PASSWORD);
  const settings = {
    DIRECTORY_URL: server.url,
    DIRECTORY_BASE_DN: SUFFIX,
    DIRECTORY_BIND_DN: MIRROR_DN,
    DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
  };
  return { settings, server, client };
}

async function writeLdif(file, users, large, photos) {
  const stream = createWriteStream(file);
  const write = async (lines) => {
    if (!stream.write(`${lines.join('\n')}\n\n`)) await once(stream, 'drain');
  };
  await write(['version: 1']);
  for (const record of people(users, photos)) await write(record);
  for (const record of groups(users)) await write(record);
  for (const [id, size] of Object.entries(large))
    await write(
      groupRecord(
        id,
        Array.from({ length: size }, (_, number) => number),
      ),
    );
  stream.end();
  await once(stream, 'finish');
}

/** Small photos of some colors. */
function makePhotos() {
  const shades = Array.from({ length: 10 }, (_, index) => index * 25);
  const options = { width: 8, height: 8, channels: 3 };
  return Promise.all(
    shades.map((r) =>
      sharp({ create: { ...options, background: { r, g: 90, b: 160 } } })
        .jpeg()
        .toBuffer(),
    ),
  );
}

/** Changes one attribute of an entry. @param operation add, delete or replace */
export function change(client, dn, operation, type, ...values) {
  return client.modify(dn, [new Change({ operation, modification: new Attribute({ type, values }) })]);
}
