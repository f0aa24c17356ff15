// The same queries in the schemas that PostGraphile derives from the tables.
import { formOfCursor, formOfPhoto } from '../../queries.mjs';

const ROLES = [null, 'MEMBER', 'ADMIN', 'OWNER'];
const KINDS = ['User', 'Group'];

const membersOf = (first) => ({
  ordinary: {
    query: `query Members($id: String!) {
  groupByRowId(rowId: $id) {
    name
    membershipsByGroupKey(first: ${first}, orderBy: [PERSON_SORT_NAME_ASC, PERSON_KEY_ASC]) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { role personByPersonKey { name schoolYear photo } }
    }
  }
}`,
    contentOf: ({ groupByRowId: { name, membershipsByGroupKey: members } }) =>
      contentOfMembers(
        name,
        members.totalCount,
        members,
        members.nodes.map(({ role, personByPersonKey }) => ({ role, ...personByPersonKey })),
      ),
  },
  'read-model': {
    query: `query Members($id: String!) {
  groupByRowId(rowId: $id) {
    name
    memberCount
    membersByGroupKey(first: ${first}) {
      pageInfo { hasNextPage endCursor }
      nodes { role name schoolYear photo }
    }
  }
}`,
    contentOf: ({ groupByRowId: { name, memberCount, membersByGroupKey: members } }) =>
      contentOfMembers(name, memberCount, members, members.nodes),
  },
});

const PROFILE = {
  ordinary: {
    query: `query Profile {
  profile {
    name
    schoolYear
    photo
    membershipsByPersonKey(last: 20, orderBy: [GROUP_SORT_NAME_ASC, GROUP_KEY_ASC]) {
      totalCount
      pageInfo { hasPreviousPage startCursor }
      nodes { role groupByGroupKey { rowId name } }
    }
  }
}`,
    contentOf: ({ profile: { membershipsByPersonKey: groups, ...person } }) =>
      contentOfProfile(
        person,
        groups.totalCount,
        groups,
        groups.nodes.map(({ role, groupByGroupKey: { rowId, name } }) => [ROLES[role], rowId, name]),
      ),
  },
  'read-model': {
    query: `query Profile {
  profile {
    name
    schoolYear
    photo
    groupCount
    groupsOfPeopleByPersonKey(last: 20) {
      pageInfo { hasPreviousPage startCursor }
      nodes { role groupId groupName }
    }
  }
}`,
    contentOf: ({ profile: { groupsOfPeopleByPersonKey: groups, groupCount, ...person } }) =>
      contentOfProfile(
        person,
        groupCount,
        groups,
        groups.nodes.map(({ role, groupId, groupName }) => [ROLES[role], groupId, groupName]),
      ),
  },
};

const BUILD = {
  query: 'query Build { buildInfo { version commit } }',
  contentOf: ({ buildInfo }) => buildInfo,
};

/** Defined for the ordinary tables only. */
const SEARCH = {
  query: `query Search($query: String!) {
  search(term: $query, first: 20) { nodes { kind id name } }
}`,
  contentOf: ({ search }) => search.nodes.map(({ kind, id, name }) => [KINDS[kind], id, name]),
};

/** @param {'ordinary' | 'read-model'} tables */
export function queriesOn(tables) {
  return {
    members: { operationName: 'Members', ...membersOf(50)[tables] },
    largestPage: { operationName: 'Members', ...membersOf(100)[tables] },
    profile: { operationName: 'Profile', ...PROFILE[tables] },
    build: { operationName: 'Build', ...BUILD },
    ...(tables === 'ordinary' ? { search: { operationName: 'Search', ...SEARCH } } : {}),
  };
}

function contentOfMembers(name, totalCount, { pageInfo }, people) {
  return {
    name,
    totalCount,
    hasNextPage: pageInfo.hasNextPage,
    endCursor: formOfCursor(pageInfo.endCursor),
    members: people.map((person) => [
      ROLES[person.role],
      person.name,
      person.schoolYear,
      formOfPhoto(person.photo),
    ]),
  };
}

function contentOfProfile({ name, schoolYear, photo }, totalCount, { pageInfo }, groups) {
  return {
    name,
    schoolYear,
    photo: formOfPhoto(photo),
    totalCount,
    hasPreviousPage: pageInfo.hasPreviousPage,
    startCursor: formOfCursor(pageInfo.startCursor),
    groups,
  };
}
