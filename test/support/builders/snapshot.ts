import type { MappedGroup, MappedPerson, NamedAs, Snapshot } from '../../../src/mirror/map/snapshot.js';

/** A user with the required values only. */
export function person(uuid: string, name = uuid): MappedPerson {
  return {
    uuid,
    dn: `uid=${uuid}`,
    dnKey: `dn-${uuid}`,
    id: uuid,
    name,
    givenName: null,
    familyName: null,
    email: null,
    schoolYear: null,
    photo: null,
    picture: null,
    sourceValues: null,
    createdAt: null,
  };
}

/** @param names the entries that the group references, by the part of the DN key after `dn-` */
export function group(uuid: string, names: [string, NamedAs][] = []): MappedGroup {
  return {
    uuid,
    dn: `cn=${uuid}`,
    dnKey: `dn-${uuid}`,
    id: uuid,
    name: uuid,
    description: null,
    website: null,
    email: null,
    sourceValues: null,
    createdAt: null,
    references: new Map(names.map(([named, namedAs]) => [`dn-${named}`, namedAs])),
  };
}

export function snapshot(people: MappedPerson[], groups: MappedGroup[] = []): Snapshot {
  return {
    people: new Map(people.map((each) => [each.uuid, each])),
    groups: new Map(groups.map((each) => [each.uuid, each])),
    quarantined: [],
  };
}
