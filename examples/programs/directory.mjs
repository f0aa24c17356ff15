// A client of the service for a web page, with @apollo/client 4. `getToken` returns an access token; with `true`, another one,
// because the former was rejected.
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';

export function createClient({ url, getToken, headers, clientAwareness }) {
  /** After 401 it gets another token, once; after 429, 503 and lost connections it tries again. */
  async function send(address, options) {
    let isRenewed = false;
    for (let attempt = 1; ; attempt++) {
      const authorization = `Bearer ${await getToken(isRenewed)}`;
      const signal = AbortSignal.any([options.signal, AbortSignal.timeout(30_000)].filter(Boolean));
      const request = { ...options, signal, headers: { ...options.headers, authorization } };
      const response = await fetch(address, request).catch((error) =>
        attempt < 10 && !options.signal?.aborted ? null : Promise.reject(error),
      );
      if (response?.status === 401 && !isRenewed) isRenewed = true;
      else if (attempt === 10 || (response && response.status !== 429 && response.status !== 503))
        return response;
      else {
        const seconds = (Number(response?.headers.get('retry-after')) || attempt) + Math.random();
        await new Promise((resolve) => globalThis.setTimeout(resolve, seconds * 1000));
      }
    }
  }

  const pages = relayStylePagination(['filter', 'orderBy']);
  const keyFields = ['nodeId'];
  return new ApolloClient({
    clientAwareness,
    link: new HttpLink({ uri: `${url}/graphql/v1`, headers, fetch: send, credentials: 'omit' }),
    cache: new InMemoryCache({
      typePolicies: {
        Query: { fields: { users: pages, groups: pages } },
        User: { keyFields, fields: { groups: pages } },
        Profile: { keyFields, fields: { groups: pages } },
        Group: { keyFields, fields: { members: pages, parents: pages, subgroups: pages } },
      },
    }),
  });
}

// With these policies, select `nodeId` in every user, profile and group, and `edges` instead of `nodes`.
const MEMBERS = gql`
  query Members($id: String!, $after: String) {
    group(group: { id: $id }) {
      nodeId
      members(first: 100, after: $after) {
        edges {
          node {
            user {
              nodeId
              name
            }
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`;

export async function readMembers(client, id) {
  for (let after = null; ;) {
    const query = { query: MEMBERS, variables: { id, after }, fetchPolicy: 'network-only' };
    const { edges, pageInfo } = (await client.query(query)).data.group.members;
    // The cache has merged the pages: these are all members so far.
    if (!pageInfo.hasNextPage) return edges.map(({ node }) => node.user);
    after = pageInfo.endCursor;
  }
}
