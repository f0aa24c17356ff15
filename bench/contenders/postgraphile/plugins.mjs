// Extends the schema that PostGraphile derives from tables: orders by a related table, signed photos, the user of the token.
import { constant, context, lambda } from 'postgraphile/grafast';
import { TYPES } from 'postgraphile/@dataplan/pg';
import { addPgTableOrderBy, extendSchema, orderByAscDesc } from 'postgraphile/utils';

/** Orders memberships by the name of the user and by the name of the group. */
export const ORDERS = [
  orderByRelated('PERSON_SORT_NAME', 'people', 'person_key'),
  orderByRelated('GROUP_SORT_NAME', 'groups', 'group_key'),
];

function orderByRelated(name, table, reference) {
  return addPgTableOrderBy({ schemaName: 'ordinary', tableName: 'memberships' }, ({ sql }) => {
    const related = sql.identifier(Symbol(table));
    return orderByAscDesc(name, ({ alias }) => ({
      codec: TYPES.text,
      fragment: sql`(select ${related}.sort_name from ordinary.${sql.identifier(table)} as ${related} where ${related}.key = ${alias}.${sql.identifier(reference)})`,
    }));
  });
}

/**
 * @param {Record<string, string>} ids types with a photo, and their column with the id of the user
 * @param build the `buildInfo` of the service
 */
export function makeDirectoryPlugin(ids, photos, build) {
  const photo = (column) => ({
    plans: {
      photo: ($row) =>
        lambda(
          [$row.get(column), $row.get('has_photo')],
          ([id, hasPhoto]) => photos.find(id, hasPhoto),
          true,
        ),
    },
  });
  return extendSchema(({ pgResources: { people } }) => ({
    typeDefs: [
      'type BuildInfo { version: String! commit: String }',
      'extend type Query { profile: Person buildInfo: BuildInfo! }',
      ...Object.keys(ids).map((type) => `extend type ${type} { photo: String }`),
    ].join('\n'),
    objects: {
      Query: {
        plans: {
          profile: () => people.get({ id: context().get('person') }),
          buildInfo: () => constant(build),
        },
      },
      ...Object.fromEntries(Object.entries(ids).map(([type, column]) => [type, photo(column)])),
    },
  }));
}
