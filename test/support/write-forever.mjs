// Prints the content of the database, then applies two directory files in turn and creates a service account after each, until it
// is killed: `node … FILE FILE`. Each line is a value in JSON, printed after its commit.
import 'reflect-metadata';
import { readConfig } from '../../dist/config/config.js';
import { DirectoryDataSource } from '../../dist/database/connections/data-source.js';
import { Revisions } from '../../dist/database/revisions.js';
import { ENTITIES } from '../../dist/entities.js';
import { Session } from '../../dist/mirror/leadership.js';
import { Synchronizer } from '../../dist/mirror/synchronizer.js';
import { ServiceAccountsService } from '../../dist/service-accounts/service-accounts.service.js';
import { FileDirectory } from '../../dist/sources/file-directory.js';

const CONTENTS = `
  select (select array_agg(distinct name) from users) as names,
    (select count(*)::integer from users) as people,
    (select array_agg(distinct substring(u.id from 8)::integer % 2)
     from effective_memberships m join users u on u.key = m.user_key) as halves,
    (select count(*)::integer from effective_memberships) as effective,
    (select sum(member_count)::integer from groups) as counted,
    (select sum(group_count)::integer from users) as held,
    (select count(*)::integer from "references" r join groups g on g.key = r.from_key
     join names n on n.name = r.target join users u on u.key = n.key where r.field = ':') as direct,
    (select revision = (select max(id) from revisions) from mirror_state) as latest,
    (select count(distinct user_key)::integer from changes
     where revision = (select max(id) from revisions)) as reported,
    (select coalesce(max(id), 0)::integer from revisions) as revision,
    (select coalesce(array_agg(id), '{}') from service_accounts a
     where exists (select from service_account_secrets s where s.service_account_id = a.id)) as accounts`;

const config = readConfig();
const dataSource = new DirectoryDataSource(config.database, ENTITIES);
await dataSource.initialize();
const revisions = new Revisions(dataSource, config);
const session = await Session.open(config.database.url);
const synchronizer = new Synchronizer(config, dataSource, revisions);
const accounts = new ServiceAccountsService(dataSource);
const directories = process.argv
  .slice(2)
  .map((file) => new FileDirectory(config.directory, { kind: 'file', file }));
const [contents] = await dataSource.query(CONTENTS);
console.log(JSON.stringify({ contents }));
for (let turn = 0; ; turn++) {
  await synchronizer.run(directories[turn % directories.length], session, { isWhole: true });
  console.log(
    JSON.stringify({
      revision: (await dataSource.query('select max(id)::integer as id from revisions'))[0].id,
    }),
  );
  const id = `account-${process.pid}-${turn}`;
  await accounts.create({ id, name: id, description: null, scopes: ['read'], expiresAt: null });
  console.log(JSON.stringify({ account: id }));
}
