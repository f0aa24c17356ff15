// What one would write by hand to answer these questions and no others: node:http, pg, JSON.stringify.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import pg from 'pg';
import { QUESTIONS } from '../../questions.mjs';
import { SignedPhotos } from '../signed-photos.mjs';
import { Answers } from './answers.mjs';
import { statementsOn } from './statements.mjs';

const { PORT, DATABASE_URL, TABLES, TOKENS_FILE, BASE_URL, SIGNING_KEY, BUILD } = process.env;

/** With the read model comes what the service tells its connections, and its memory of signed URLs. */
const isLike = TABLES === 'read-model';
const onConnect = async (client) => {
  await client.query('set plan_cache_mode = force_generic_plan; set enable_memoize = off');
};

const answers = new Answers({
  pool: new pg.Pool({ connectionString: DATABASE_URL, max: 10, ...(isLike ? { onConnect } : {}) }),
  statements: statementsOn(TABLES),
  photos: new SignedPhotos(BASE_URL, SIGNING_KEY, isLike),
  build: JSON.parse(BUILD),
});

/** Who a token belongs to. */
const people = new Map(Object.entries(JSON.parse(readFileSync(TOKENS_FILE, 'utf8'))));
/** Which question a document is. */
const questions = new Map(Object.entries(QUESTIONS).map(([name, { query }]) => [query, name]));

const server = createServer((request, response) => {
  const person = people.get(request.headers.authorization?.slice('Bearer '.length));
  if (person === undefined) return void response.writeHead(401).end();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    answer(Buffer.concat(chunks).toString(), person).then(
      (text) => send(response, text),
      (error) => response.writeHead(500).end(error.stack),
    );
  });
});

async function answer(body, person) {
  const { query, variables } = JSON.parse(body);
  return JSON.stringify({ data: await answers.find(questions.get(query), variables, person) });
}

function send(response, text) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(200, headers).end(text);
}

server.listen(Number(PORT), '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
