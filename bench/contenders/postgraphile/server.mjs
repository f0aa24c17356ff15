// PostGraphile 5 as its documentation sets it up for production, with a bearer token on every request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { SignedPhotos } from '../signed-photos.mjs';
import { makeDirectoryPlugin, ORDERS } from './plugins.mjs';

const { PORT, DATABASE_URL, TABLES, TOKENS_FILE, BASE_URL, SIGNING_KEY, BUILD } = process.env;

/** With the read model comes what the service tells its connections, and its memory of signed URLs. */
const isLike = TABLES === 'read-model';
const schema = isLike ? 'read_model' : 'ordinary';
const ids = isLike ? { Person: 'id', Member: 'person_id' } : { Person: 'id' };
const onConnect = async (client) => {
  await client.query('set plan_cache_mode = force_generic_plan; set enable_memoize = off');
};

/** Who a token belongs to. */
const people = new Map(Object.entries(JSON.parse(readFileSync(TOKENS_FILE, 'utf8'))));

const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [
    ...(isLike ? [] : ORDERS),
    makeDirectoryPlugin(ids, new SignedPhotos(BASE_URL, SIGNING_KEY, isLike), JSON.parse(BUILD)),
  ],
  pgServices: [
    makePgService({
      connectionString: DATABASE_URL,
      schemas: [schema],
      poolConfig: { max: 10, ...(isLike ? { onConnect } : {}) },
      pubsub: false,
    }),
  ],
  grafserv: { graphqlPath: '/graphql/v1', graphiql: false, websockets: false },
  grafast: {
    explain: false,
    context({ node }) {
      const person = people.get(node?.req.headers.authorization?.slice('Bearer '.length));
      if (person === undefined) throw new Error('This token is not known');
      return { person };
    },
  },
});

const server = createServer();
await service.createServ(grafserv).addTo(server);
server.listen(Number(PORT), '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
