// The same queries in the schemas that PostGraphile derives from the tables.
import { contentOfMembers, contentOfProfile } from '../queries.mjs';
import { ROLES } from './peer.mjs';

const withRole = ({ role, ...person }) => ({ ...person, role: ROLES[role] });

const BUILD = {
  query: 'query Build { buildInfo { version } }',
  contentOf: ({ buildInfo }) => typeof buildInfo.version,
};

/** @type {Record<string, Record<string, import('../queries.mjs').Question>>} by schema */
export const POSTGRAPHILE_QUERIES = {
  ordinary: {
    members: {
      query: `query Members($id: String!) {
  groupByRowId(rowId: $id) {
    name
    membershipsByGroupKey(first: 50, orderBy: [PERSON_SORT_NAME_ASC, PERSON_KEY_ASC]) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { role personByPersonKey { name schoolYear photo } }
    }
  }
}`,
      contentOf({ groupByRowId: { name, membershipsByGroupKey: members } }) {
        const nodes = members.nodes.map(({ role, personByPersonKey }) =>
          withRole({ role, ...personByPersonKey }),
        );
        return contentOfMembers(name, members.totalCount, members.pageInfo, nodes);
      },
    },
  },
  read_model: {
    members: {
      query: `query Members($id: String!) {
  groupByRowId(rowId: $id) {
    name
    memberCount
    membersByGroupKey(first: 50) {
      pageInfo { hasNextPage endCursor }
      nodes { role name schoolYear photo }
    }
  }
}`,
      contentOf: ({ groupByRowId: { name, memberCount, membersByGroupKey: members } }) =>
        contentOfMembers(name, memberCount, members.pageInfo, members.nodes.map(withRole)),
    },
    profile: {
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
      contentOf({ profile: { groupsOfPeopleByPersonKey: groups, groupCount, ...person } }) {
        const nodes = groups.nodes.map(({ role, groupId, groupName }) => [ROLES[role], groupId, groupName]);
        return contentOfProfile(person, groupCount, groups.pageInfo, nodes);
      },
    },
    build: BUILD,
  },
};
