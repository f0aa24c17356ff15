// @ts-check
import { FEATURED } from './featured.mjs';

/** @typedef {import('./people.mjs').Person} Person */

const FEATURED_UIDS = new Set(FEATURED.map((person) => person.uid));

/**
 * @param {readonly Person[]} people
 * @param {import('./people.mjs').Kind} kind
 */
export function lotsOf(people, kind) {
  return uidsOf(people, (person) => person.kind === kind).filter(isNotFeatured);
}

/**
 * @param {readonly Person[]} people
 * @param {(person: Person) => boolean} condition
 */
export function uidsOf(people, condition) {
  return people.filter(condition).map((person) => person.uid);
}

/** @param {string} uid */
export function isNotFeatured(uid) {
  return !FEATURED_UIDS.has(uid);
}
