// A server written by hand for these queries only: node:http, pg, JSON.stringify.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import pg from 'pg';
import { QUERIES } from '../../queries.mjs';
import { SignedPhotos } from '../signed-photos.mjs';
import { Executor } from './executor.mjs';
import { statementsOn } from './statements.mjs';

const { PORT, DATABASE_URL, TABLES, TOKENS_FILE, BASE_URL, SIGNING_KEY, BUILD } = process.env;

/** With the read model, it uses the service's connection settings and caches signed URLs. */
const usesReadModel = TABLES === 'read-model';
const onConnect = async (client) => {
  await client.query('set plan_cache_mode = force_generic_plan; set enable_memoize = off');
};

const executor = new Executor({
  pool: new pg.Pool({ connectionString: DATABASE_URL, max: 10, ...(usesReadModel ? { onConnect } : {}) }),
  statements: statementsOn(TABLES),
  photos: new SignedPhotos(BASE_URL, SIGNING_KEY, usesReadModel),
  build: JSON.parse(BUILD),
});

/** Ids of users by token. */
const people = new Map(Object.entries(JSON.parse(readFileSync(TOKENS_FILE, 'utf8'))));
/** Names of queries by document. */
const queries = new Map(Object.entries(QUERIES).map(([name, { query }]) => [query, name]));

const server = createServer((request, response) => {
  const person = people.get(request.headers.authorization?.slice('Bearer '.length));
  if (person === undefined) return void response.writeHead(401).end();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    execute(Buffer.concat(chunks).toString(), person).then(
      (text) => send(response, text),
      (error) => response.writeHead(500).end(error.stack),
    );
  });
});

async function execute(body, person) {
  const { query, variables } = JSON.parse(body);
  return JSON.stringify({ data: await executor.find(queries.get(query), variables, person) });
}

function send(response, text) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(200, headers).end(text);
}

server.listen(Number(PORT), '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
