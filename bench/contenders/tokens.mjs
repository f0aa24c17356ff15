// Fetches access tokens of users from the embedded identity provider, with one client per user as its owner.
import { writeFileSync } from 'node:fs';
import { URLSearchParams } from 'node:url';

const SECRET = 'bench-secret-of-one-of-many-clients';
/** Concurrent requests for tokens. */
const CONCURRENCY = 8;

/** Must differ from the id of the user: otherwise the client would act for itself (RFC 9068 §2.2). */
const clientOf = (person) => `client-of-${person}`;

export function writeClients(file, people) {
  const clients = people.map((person) => ({
    client_id: clientOf(person),
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    scope: 'profile read directory',
    owner: person,
  }));
  writeFileSync(file, JSON.stringify(clients));
}

/** @returns {Promise<{ id: string, token: string }[]>} */
export async function fetchTokens(port, people) {
  const found = [];
  const waiting = people.values();
  const worker = async () => {
    for (const id of waiting) found.push({ id, token: await fetchToken(port, id) });
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return found;
}

async function fetchToken(port, person) {
  const response = await fetch(`http://127.0.0.1:${port}/oauth2/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientOf(person)}:${SECRET}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token, error_description: reason } = await response.json();
  if (token === undefined) throw new Error(`No token for ${person}: ${reason}`);
  return token;
}
