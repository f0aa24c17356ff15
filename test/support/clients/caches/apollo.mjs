// Apollo Client: queries a user, previews another name, and reads the user from the cache. Pages through the members of a group.
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { authorization, MUTATION, QUERY, report, url } from './documents.mjs';

const client = new ApolloClient({
  cache: new InMemoryCache({
    typePolicies: { Group: { fields: { members: relayStylePagination(['filter', 'orderBy']) } } },
  }),
  link: new HttpLink({ uri: url, headers: { authorization } }),
});

async function rename() {
  const query = gql(QUERY);
  const { data: before } = await client.query({ query });
  const { data: preview } = await client.mutate({ mutation: gql(MUTATION) });
  const { data: cached } = await client.query({ query, fetchPolicy: 'cache-only' });
  return { before, preview, cached };
}

/** The names after each page. */
async function page() {
  const query = gql(`query Members($after: String) {
    group(group: {id: "club"}) {
      id
      members(first: 2, after: $after) { edges { cursor node { user { id name } } } pageInfo { hasNextPage endCursor } }
    }
  }`);
  const pages = [];
  const { data: first } = await client.query({ query });
  let { hasNextPage, endCursor } = first.group.members.pageInfo;
  for (;;) {
    // The cache has all pages so far.
    const { data } = await client.query({ query, fetchPolicy: 'cache-only' });
    pages.push(data.group.members.edges.map(({ node }) => node.user.name));
    if (!hasNextPage) return pages;
    const next = await client.query({ query, variables: { after: endCursor }, fetchPolicy: 'network-only' });
    ({ hasNextPage, endCursor } = next.data.group.members.pageInfo);
  }
}

report({ ...(await rename()), pages: await page() });
