// The queries in the schema of the service, and the parts of a response that all who answer them have in common.

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

/** A user, and the same attributes by SCIM. */
export const LOOKUP = `query Lookup($id: String!) {
  user(user: {id: $id}) { nodeId id name givenName familyName email active photo createdAt updatedAt }
}`;

export const LOOKUP_BY_SCIM = 'userName,displayName,name,emails,active,photos,meta';

/** A page of a group, after a cursor. */
export const PAGE = `query Page($id: String!, $after: String) {
  group(group: {id: $id}) {
    members(first: 50, after: $after) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { role { value } user { name schoolYear photo } }
    }
  }
}`;

/** @typedef {{ query: string, contentOf: (data: object) => unknown }} Question */

/** @type {Record<string, Question>} */
export const QUERIES = {
  members: { query: MEMBERS(50), contentOf: membersIn },
  profile: { query: PROFILE, contentOf: profileIn },
  build: {
    query: 'query Build { buildInfo { version } }',
    contentOf: ({ buildInfo }) => typeof buildInfo.version,
  },
  largestPage: { query: MEMBERS(100), contentOf: membersIn },
  search: {
    query: SEARCH,
    contentOf: ({ search }) => search.nodes.map(({ __typename, id, name }) => [__typename, id, name]),
  },
};

export const TITLES = {
  members: 'Q1: a group with its first 50 members',
  profile: 'Q2: the own profile with its last 20 groups',
  build: 'Q3: `buildInfo`, a request without data',
  largestPage: 'Q4: a group with its first 100 members',
  search: 'Q5: a search for users and groups',
};

function membersIn({ group: { name, members } }) {
  const nodes = members.nodes.map(({ role, user }) => ({ ...user, role: role.value }));
  return contentOfMembers(name, members.totalCount, members.pageInfo, nodes);
}

export function contentOfMembers(name, totalCount, { hasNextPage, endCursor }, people) {
  const members = people.map((each) => [each.role, each.name, each.schoolYear, formOfPhoto(each.photo)]);
  return { name, totalCount, hasNextPage, endCursor: formOfCursor(endCursor), members };
}

function profileIn({ profile: { groups, ...person } }) {
  const nodes = groups.nodes.map(({ role, group }) => [role.value, group.id, group.name]);
  return contentOfProfile(person, groups.totalCount, groups.pageInfo, nodes);
}

export function contentOfProfile(person, totalCount, { hasPreviousPage, startCursor }, groups) {
  const { name, schoolYear, photo } = person;
  const own = { name, schoolYear, photo: formOfPhoto(photo) };
  return { ...own, totalCount, hasPreviousPage, startCursor: formOfCursor(startCursor), groups };
}

/** The format of cursors differs: only their presence is compared. */
function formOfCursor(cursor) {
  return typeof cursor === 'string' && cursor.length > 0 ? 'a cursor' : cursor;
}

const PHOTO = /^http:\/\/[^/]+(\/photo\/v1\/[^?]+)\?expires=\d{10}&signature=[0-9a-f]{64}$/;

/** Expiry and signature of a signed URL can differ, so that only the path is compared. */
function formOfPhoto(url) {
  if (url === null) return null;
  const [, path] = PHOTO.exec(url) ?? [];
  if (path === undefined) throw new Error(`Not a signed URL: ${url}`);
  return `signed ${path}`;
}
