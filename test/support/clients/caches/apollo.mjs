// Apollo Client with its default cache: queries a user, previews another name, and reads the user from the cache.
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { authorization, MUTATION, QUERY, report, url } from './documents.mjs';

const client = new ApolloClient({
  cache: new InMemoryCache(),
  link: new HttpLink({ uri: url, headers: { authorization } }),
});
const query = gql(QUERY);
const { data: before } = await client.query({ query });
const { data: preview } = await client.mutate({ mutation: gql(MUTATION) });
const { data: cached } = await client.query({ query, fetchPolicy: 'cache-only' });
report({ before, preview, cached });
