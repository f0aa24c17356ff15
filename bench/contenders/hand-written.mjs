// A server written by hand for these queries only: node:http, one prepared statement for a query, JSON.stringify.
import { createServer } from 'node:http';
import pg from 'pg';
import { QUERIES } from '../queries.mjs';
import { readPeer, ROLES } from './peer.mjs';

/** Columns of the parent, then of each row. One row more shows whether there is a next page. */
const ORDINARY = {
  members: `
    select g.name, counted.total, page.* from ordinary.groups g
    cross join lateral (
      select count(*)::integer as total from ordinary.memberships m where m.group_key = g.key
    ) counted
    left join lateral (
      select m.role, p.id, p.name, p.school_year, p.has_photo, p.sort_name, p.key
      from ordinary.memberships m join ordinary.people p on p.key = m.person_key
      where m.group_key = g.key order by p.sort_name, p.key limit 51
    ) page on true
    where g.id = $1`,
};

const LIKE_FOR_LIKE = {
  members: `
    select g.name, g.member_count, page.* from read_model.groups g
    left join lateral (
      select m.role, m.person_id, m.name, m.school_year, m.has_photo, m.sort_name, m.person_key
      from read_model.members m where m.group_key = g.key order by m.sort_name, m.person_key limit 51
    ) page on true
    where g.id = $1`,
  profile: `
    select p.id, p.name, p.school_year, p.has_photo, p.group_count, page.* from read_model.people p
    left join lateral (
      select m.role, m.group_id, m.group_name, m.sort_name, m.group_key
      from read_model.groups_of_people m where m.person_key = p.key
      order by m.sort_name desc, m.group_key desc limit 21
    ) page on true
    where p.id = $1`,
};

const { port, databaseUrl, isLikeForLike, poolOptions, photos, personOf } = readPeer(process.env);
const statements = isLikeForLike ? LIKE_FOR_LIKE : ORDINARY;
const pool = new pg.Pool({ connectionString: databaseUrl, ...poolOptions });
/** Names of queries by document. */
const names = new Map(Object.entries(QUERIES).map(([name, { query }]) => [query, name]));

const cursorOf = (sortName, key) => Buffer.from(JSON.stringify([sortName, key])).toString('base64url');

async function read(name, value) {
  const { rows } = await pool.query({ name, text: statements[name], values: [value], rowMode: 'array' });
  return rows;
}

const ANSWERS = {
  async members({ id }) {
    const rows = await read('members', id.toLowerCase());
    const [name, totalCount] = rows[0];
    const hasNextPage = rows.length > 50;
    if (hasNextPage) rows.pop();
    const last = rows[rows.length - 1];
    const nodes = rows.map(([, , role, person, personName, schoolYear, hasPhoto]) => ({
      role: { value: ROLES[role] },
      user: { name: personName, schoolYear, photo: photos.find(person, hasPhoto) },
    }));
    const pageInfo = { hasNextPage, endCursor: cursorOf(last[7], last[8]) };
    return { group: { name, members: { totalCount, pageInfo, nodes } } };
  },

  async profile(_variables, person) {
    const rows = await read('profile', person);
    const [id, name, schoolYear, hasPhoto, totalCount] = rows[0];
    const hasPreviousPage = rows.length > 20;
    if (hasPreviousPage) rows.pop();
    rows.reverse();
    const nodes = rows.map(([, , , , , role, groupId, groupName]) => ({
      role: { value: ROLES[role] },
      group: { id: groupId, name: groupName },
    }));
    const pageInfo = { hasPreviousPage, startCursor: cursorOf(rows[0][8], rows[0][9]) };
    const groups = { totalCount, pageInfo, nodes };
    return { profile: { name, schoolYear, photo: photos.find(id, hasPhoto), groups } };
  },

  build: () => ({ buildInfo: { version: '0.1.0' } }),
};

async function answer(body, person) {
  const { query, variables } = JSON.parse(body);
  return JSON.stringify({ data: await ANSWERS[names.get(query)](variables, person) });
}

function send(response, text) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(200, headers).end(text);
}

const server = createServer((request, response) => {
  const person = personOf(request);
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
server.listen(port, '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
