// Prints the names and e-mail addresses of the members of a group: TOKEN=… node emails.mjs chess-club
import { setTimeout as sleep } from 'node:timers/promises';

const { SERVICE_URL: url = 'http://127.0.0.1:3000', TOKEN } = process.env;
const headers = { authorization: `Basic ${TOKEN}`, 'content-type': 'application/json' };
const query = `query Emails($id: String!, $after: String) { group(group: { id: $id }) {
  members(first: 100, after: $after) { nodes { user { name email } } pageInfo { hasNextPage endCursor } } } }`;

/** Sends a query with a deadline, and repeats what the service or the network cannot do now, at most ten times. */
async function send(body) {
  for (let attempt = 1; ; attempt++) {
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) };
    const { response, text, error } = await fetch(`${url}/graphql/v1`, request)
      .then(async (response) => ({ response, text: await response.text() }))
      .catch((error) => ({ error }));
    const isTemporary = error || response.status === 429 || response.status === 503;
    if (error && attempt === 10) throw error;
    if (!isTemporary || attempt === 10) return JSON.parse(text);
    await sleep(1000 * ((Number(response?.headers.get('retry-after')) || attempt) + Math.random()));
  }
}

for (let data, errors, pageInfo; pageInfo?.hasNextPage ?? true; { pageInfo } = data.group.members) {
  const variables = { id: process.argv[2], after: pageInfo?.endCursor };
  ({ data, errors } = await send(JSON.stringify({ query, variables })));
  if (errors) throw new Error(`${errors[0].extensions.code}: ${errors[0].message}`);
  for (const { user } of data.group.members.nodes) if (user.email) console.log(user.name, `<${user.email}>`);
}
