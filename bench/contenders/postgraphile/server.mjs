// PostGraphile 5 with the production settings of its documentation, and a bearer token on every request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { SignedPhotos } from '../signed-photos.mjs';
import { makeDirectoryPlugin, ORDERS } from './plugins.mjs';

const { PORT, DATABASE_URL, TABLES, TOKENS_FILE, BASE_URL, SIGNING_KEY, BUILD } = process.env;

/** With the read model, it uses the service's connection settings and caches signed URLs. */
const usesReadModel = TABLES === 'read-model';
const schema = usesReadModel ? 'read_model' : 'ordinary';
const ids = usesReadModel ? { Person: 'id', Member: 'person_id' } : { Person: 'id' };
const onConnect = async (client) => {
  await client.query('set plan_cache_mode = force_generic_plan; set enable_memoize = off');
};

/** Ids of users by token. */
const people = new Map(Object.entries(JSON.parse(readFileSync(TOKENS_FILE, 'utf8'))));

const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [
    ...(usesReadModel ? [] : ORDERS),
    makeDirectoryPlugin(ids, new SignedPhotos(BASE_URL, SIGNING_KEY, usesReadModel), JSON.parse(BUILD)),
  ],
  pgServices: [
    makePgService({
      connectionString: DATABASE_URL,
      schemas: [schema],
      poolConfig: { max: 10, ...(usesReadModel ? { onConnect } : {}) },
      pubsub: false,
    }),
  ],
  grafserv: { graphqlPath: '/graphql/v1', graphiql: false, websockets: false },
  grafast: {
    explain: false,
    context({ node }) {
      const person = people.get(node?.req.headers.authorization?.slice('Bearer '.length));
      if (person === undefined) throw new Error('Unknown token');
      return { person };
    },
  },
});

const server = createServer();
await service.createServ(grafserv).addTo(server);
server.listen(Number(PORT), '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
