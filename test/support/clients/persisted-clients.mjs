// Sends a query twice with each client that persists queries: node persisted-clients.mjs URL AUTHORIZATION
//
// Prints for each client its results, and for each request its method and whether it contained the text of the query.
import { hash } from 'node:crypto';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { Client, fetchExchange } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';

const [url, authorization] = process.argv.slice(2);
const VARIABLES = { id: 'anna' };

/** Each run has a text of its own, so that its first request is for a document that the service does not know. */
const textOf = (run) => `query ${run}($id: String!) { user(user: { id: $id }) { id name } }`;

function recorded(requests) {
  return async (input, init = {}) => {
    const { method = 'GET', body } = init;
    const hasText = method === 'GET' ? new URL(input).searchParams.has('query') : 'query' in JSON.parse(body);
    requests.push(`${method} ${hasText ? 'text' : 'hash'}`);
    return fetch(input, { ...init, headers: { ...init.headers, authorization } });
  };
}

async function runApollo(run, options) {
  const requests = [];
  const link = new PersistedQueryLink({ sha256: (text) => hash('sha256', text), ...options });
  const client = new ApolloClient({
    link: link.concat(new HttpLink({ uri: url, fetch: recorded(requests) })),
    cache: new InMemoryCache(),
  });
  const results = [];
  for (let time = 0; time < 2; time++) {
    const query = gql(textOf(run));
    const { data } = await client.query({ query, variables: VARIABLES, fetchPolicy: 'network-only' });
    results.push(data.user.name);
  }
  return { run, results, requests };
}

async function runUrql(run, options) {
  const requests = [];
  const exchanges = [persistedExchange(options), fetchExchange];
  const client = new Client({ url, exchanges, fetch: recorded(requests), preferGetMethod: false });
  const results = [];
  for (let time = 0; time < 2; time++) {
    const { data, error } = await client.query(textOf(run), VARIABLES, { requestPolicy: 'network-only' });
    results.push(data?.user.name ?? String(error));
  }
  return { run, results, requests };
}

console.log(
  JSON.stringify([
    await runApollo('Apollo', {}),
    await runApollo('ApolloByGet', { useGETForHashedQueries: true }),
    await runUrql('Urql', { preferGetForPersistedQueries: false }),
    await runUrql('UrqlByGet', { preferGetForPersistedQueries: 'force' }),
  ]),
);
