// PostGraphile 5 with the production settings of its documentation, a bearer token on every request, orders by names, and signed photos.
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { TYPES } from 'postgraphile/@dataplan/pg';
import { makePgService } from 'postgraphile/adaptors/pg';
import { constant, context, lambda } from 'postgraphile/grafast';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { addPgTableOrderBy, extendSchema, orderByAscDesc } from 'postgraphile/utils';
import { readPeer } from './peer.mjs';

const { port, databaseUrl, tables, isLikeForLike, poolOptions, photos, personOf } = readPeer(process.env);

/** Orders memberships by the name of the user. */
const ORDER = addPgTableOrderBy({ schemaName: 'ordinary', tableName: 'memberships' }, ({ sql }) => {
  const people = sql.identifier(Symbol('people'));
  return orderByAscDesc('PERSON_SORT_NAME', ({ alias }) => ({
    codec: TYPES.text,
    fragment: sql`(select ${people}.sort_name from ordinary.people as ${people} where ${people}.key = ${alias}.person_key)`,
  }));
});

const photoOf = (column) => ({
  plans: {
    photo: ($row) =>
      lambda([$row.get(column), $row.get('has_photo')], ([id, hasPhoto]) => photos.find(id, hasPhoto), true),
  },
});

/** Types with a photo, and their columns with the id of the user. */
const PICTURED = isLikeForLike ? { Person: 'id', Member: 'person_id' } : { Person: 'id' };

const EXTENSION = extendSchema(({ pgResources: { people } }) => ({
  typeDefs: [
    'type BuildInfo { version: String! }',
    'extend type Query { profile: Person buildInfo: BuildInfo! }',
    ...Object.keys(PICTURED).map((type) => `extend type ${type} { photo: String }`),
  ].join('\n'),
  objects: {
    Query: {
      plans: {
        profile: () => people.get({ id: context().get('person') }),
        buildInfo: () => constant({ version: '0.1.0' }),
      },
    },
    ...Object.fromEntries(Object.entries(PICTURED).map(([type, column]) => [type, photoOf(column)])),
  },
}));

const service = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [...(isLikeForLike ? [] : [ORDER]), EXTENSION],
  pgServices: [
    makePgService({
      connectionString: databaseUrl,
      schemas: [tables],
      poolConfig: poolOptions,
      pubsub: false,
    }),
  ],
  grafserv: { graphqlPath: '/graphql/v1', graphiql: false, websockets: false },
  grafast: {
    explain: false,
    context({ node }) {
      const person = node === undefined ? undefined : personOf(node.req);
      if (person === undefined) throw new Error('Unknown token');
      return { person };
    },
  },
});

const server = createServer();
await service.createServ(grafserv).addTo(server);
server.listen(port, '127.0.0.1', () => console.log('Ready'));
process.on('SIGTERM', () => process.exit());
