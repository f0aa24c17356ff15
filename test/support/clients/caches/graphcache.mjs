// urql with Graphcache: queries a user, previews another name, and reads the user from the cache.
import { cacheExchange } from '@urql/exchange-graphcache';
import { Client, fetchExchange } from '@urql/core';
import { authorization, MUTATION, QUERY, report, url } from './documents.mjs';

const keys = { ChangePreview: () => null, PreviewedChange: () => null };
const client = new Client({
  url,
  preferGetMethod: false,
  fetchOptions: { headers: { authorization } },
  exchanges: [cacheExchange({ keys }), fetchExchange],
});

async function dataOf(result) {
  const { data, error } = await result.toPromise();
  if (error) throw error;
  return data;
}

const before = await dataOf(client.query(QUERY, {}));
const preview = await dataOf(client.mutation(MUTATION, {}));
const cached = await dataOf(client.query(QUERY, {}, { requestPolicy: 'cache-only' }));
report({ before, preview, cached });
