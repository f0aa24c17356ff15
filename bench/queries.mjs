// The queries in the schema of the service, and functions that reduce a response to comparable content.

const MEMBERS = (first) => `query Members($id: String!) {
  group(group: {id: $id}) {
    name
    members(first: ${first}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { role { value } user { name schoolYear photo } }
    }
  }
}`;

const CUSTOM_FIELDS = 'phone office staffNumber isExternal endsAt';
const BUILT_IN_FIELDS = 'id email givenName createdAt updatedAt';
const membersWith = (fields) => MEMBERS(50).replace('schoolYear photo', `schoolYear photo ${fields}`);

const PROFILE = `query Profile {
  profile {
    name
    schoolYear
    photo
    groups(last: 20) {
      totalCount
      pageInfo { hasPreviousPage startCursor }
      nodes { role { value } group { id name } }
    }
  }
}`;

const SEARCH = `query Search($query: String!) {
  search(query: $query, first: 20) {
    nodes { __typename ... on User { id name } ... on Group { id name } }
  }
}`;

/** @typedef {{ operationName: string, query: string, contentOf: (data: object) => unknown }} Question */

/** Queries of the service and of contenders with its schema. */
export const QUERIES = {
  members: { operationName: 'Members', query: MEMBERS(50), contentOf: membersIn },
  ownMembers: {
    operationName: 'Members',
    query: membersWith(CUSTOM_FIELDS),
    contentOf: (data) => membersWithAll(CUSTOM_FIELDS, data),
  },
  builtInMembers: {
    operationName: 'Members',
    query: membersWith(BUILT_IN_FIELDS),
    contentOf: (data) => membersWithAll(BUILT_IN_FIELDS, data),
  },
  largestPage: { operationName: 'Members', query: MEMBERS(100), contentOf: membersIn },
  profile: { operationName: 'Profile', query: PROFILE, contentOf: profileIn },
  build: {
    operationName: 'Build',
    query: 'query Build { buildInfo { version commit } }',
    contentOf: ({ buildInfo }) => buildInfo,
  },
  search: {
    operationName: 'Search',
    query: SEARCH,
    contentOf: ({ search }) => search.nodes.map(({ __typename, id, name }) => [__typename, id, name]),
  },
};

/** Titles of the queries in the report. */
export const TITLES = {
  members: 'Q1: a group with its first 50 members',
  profile: 'Q2: the own profile with its last 20 groups',
  build: 'Q3: `buildInfo`, a request without data',
  largestPage: 'Q4: a group with its first 100 members',
  search: 'Q5: a search for users and groups',
};

function membersIn({ group: { name, members } }) {
  return {
    name,
    totalCount: members.totalCount,
    hasNextPage: members.pageInfo.hasNextPage,
    endCursor: formOfCursor(members.pageInfo.endCursor),
    members: members.nodes.map(({ role, user }) => [
      role.value,
      user.name,
      user.schoolYear,
      formOfPhoto(user.photo),
    ]),
  };
}

/** The members with further fields, all of which have a value. */
function membersWithAll(fields, { group }) {
  const names = fields.split(' ');
  const values = group.members.nodes.map(({ user }) => names.map((name) => user[name]));
  if (values.flat().some((value) => value === null)) throw new Error(`A field has no value: ${fields}`);
  return { ...membersIn({ group }), values };
}

function profileIn({ profile: { name, schoolYear, photo, groups } }) {
  return {
    name,
    schoolYear,
    photo: formOfPhoto(photo),
    totalCount: groups.totalCount,
    hasPreviousPage: groups.pageInfo.hasPreviousPage,
    startCursor: formOfCursor(groups.pageInfo.startCursor),
    groups: groups.nodes.map(({ role, group }) => [role.value, group.id, group.name]),
  };
}

/** The format of cursors differs between contenders: only their presence is compared. */
export function formOfCursor(cursor) {
  return typeof cursor === 'string' && cursor.length > 0 ? 'a cursor' : cursor;
}

const PHOTO = /^http:\/\/[^/]+(\/photo\/v1\/[^?]+)\?expires=\d{10}&signature=[0-9a-f]{64}$/;

/** Expiry and signature of a signed URL may differ by a minute, so only the path is compared. */
export function formOfPhoto(url) {
  if (url === null) return null;
  const [, path] = PHOTO.exec(url) ?? [];
  if (path === undefined) throw new Error(`Not a signed URL: ${url}`);
  return `signed ${path}`;
}
