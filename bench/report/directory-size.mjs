// The size of the measured directory in the database of the service.

const TABLES = ['users', 'groups', 'entries', 'names', 'references', 'nestings', 'effective_memberships'];

/** @param {import('pg').Client} connection */
export async function readDirectorySize(connection) {
  const { rows } = await connection.query(
    `
    select (select count(*)::integer from users) as people, (select count(*)::integer from groups) as groups,
      (select count(*)::integer from effective_memberships) as memberships,
      (select sum(pg_total_relation_size(name::regclass))::float8 from unnest($1::text[]) name) as bytes`,
    [TABLES],
  );
  return rows[0];
}
