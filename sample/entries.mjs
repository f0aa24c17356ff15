// @ts-check
import { randomFor, uuidFor } from './random.mjs';

/**
 * @typedef {import('./ldif.mjs').Entry} Entry
 * @typedef {import('./ldif.mjs').AttributeValue} AttributeValue
 */

const SUFFIX = 'dc=example,dc=org';
export const PEOPLE_DN = `ou=people,${SUFFIX}`;
const GROUPS_DN = `ou=groups,${SUFFIX}`;

const FOUNDED = new Date(Date.UTC(2014, 7, 1, 8, 0, 0));
const LAST_CHANGE = Date.UTC(2026, 1, 27, 16, 0, 0);

// Ids are letters, digits, dots and hyphens, hence nothing in a DN has to be escaped.

/** @param {string} uid */
export function personDn(uid) {
  return `uid=${uid},${PEOPLE_DN}`;
}

/** @param {string} cn */
export function groupDn(cn) {
  return `cn=${cn},${GROUPS_DN}`;
}

/** @param {...string} names */
export function groupDns(...names) {
  return names.map(groupDn);
}

/** @returns {Entry[]} what the people and the groups stand under */
export function buildTree() {
  return [
    {
      dn: SUFFIX,
      attributes: [
        ...classes('dcObject', 'organization'),
        ['dc', 'example'],
        ['o', 'Example School'],
        ...operational(SUFFIX, FOUNDED, FOUNDED),
      ],
    },
    ...[PEOPLE_DN, GROUPS_DN].map((dn) => ({
      dn,
      attributes: [
        ...classes('organizationalUnit'),
        ...single('ou', dn.slice(3, dn.indexOf(','))),
        ...operational(dn, FOUNDED, FOUNDED),
      ],
    })),
  ];
}

/**
 * @param {import('./people.mjs').Person} person
 * @param {import('./details.mjs').Details} details
 * @param {{ photo?: Buffer, picture?: Buffer }} images JPEG
 * @returns {Entry}
 */
export function buildPersonEntry(person, details, { photo, picture }) {
  const dn = personDn(person.uid);
  return {
    dn,
    attributes: [
      ...classes('person', 'organizationalPerson', 'inetOrgPerson', 'directoryPerson'),
      ...single('uid', person.uid),
      ...single('cn', person.cn),
      ...single('displayName', person.displayName),
      ...single('givenName', person.givenName),
      ...single('sn', person.sn),
      ...single('mail', person.mail),
      ...single('schoolYear', person.schoolYear),
      ...single('title', details.title),
      ...single('telephoneNumber', details.telephoneNumber),
      ...several('mobile', details.mobile ?? []),
      ...single('employeeNumber', details.employeeNumber),
      ...single('employeeType', details.employeeType),
      ...single('manager', details.manager),
      ...operational(dn, person.created, person.modified),
      ...single('jpegPhoto', photo),
      ...single('profilePicture', picture),
    ],
  };
}

/**
 * @param {import('./groups.mjs').Group} group
 * @param {string | undefined} roomNumber
 * @returns {Entry}
 */
export function buildGroupEntry(group, roomNumber) {
  const dn = groupDn(group.cn);
  const random = randomFor('timestamps', dn);
  const created = FOUNDED.getTime() + Math.floor(random.number() * (LAST_CHANGE - FOUNDED.getTime()));
  const modified = created + Math.floor(random.number() * (LAST_CHANGE - created));
  return {
    dn,
    attributes: [
      ...classes('groupOfNames', 'directoryGroup'),
      ...single('cn', group.cn),
      ...single('displayName', group.displayName),
      ...single('description', group.description),
      ...single('mail', group.mail),
      ...single('labeledURI', group.labeledURI),
      ...single('businessCategory', group.businessCategory),
      ...single('roomNumber', roomNumber),
      ...several('member', group.member),
      ...several('groupAdmin', group.groupAdmin ?? []),
      ...several('owner', group.owner ?? []),
      ...operational(dn, new Date(created), new Date(modified)),
    ],
  };
}

/**
 * @param {...string} names
 * @returns {AttributeValue[]}
 */
function classes(...names) {
  return several('objectClass', ['top', ...names]);
}

/**
 * @param {string} attribute
 * @param {string | Buffer | undefined} value
 * @returns {AttributeValue[]} nothing without a value
 */
function single(attribute, value) {
  return value === undefined ? [] : [[attribute, value]];
}

/**
 * @param {string} attribute
 * @param {readonly string[]} values
 * @returns {AttributeValue[]}
 */
function several(attribute, values) {
  return values.map((value) => [attribute, value]);
}

/**
 * @param {string} dn
 * @param {Date} created
 * @param {Date} modified
 * @returns {AttributeValue[]}
 */
function operational(dn, created, modified) {
  return [
    ['entryUUID', uuidFor(dn)],
    ['createTimestamp', generalizedTime(created)],
    ['modifyTimestamp', generalizedTime(modified)],
  ];
}

/**
 * @param {Date} date
 * @returns {string} RFC 4517, section 3.3.13, to the second: `20260227160000Z`
 */
function generalizedTime(date) {
  return date.toISOString().replace(/[-:T]|\.\d+/g, '');
}
