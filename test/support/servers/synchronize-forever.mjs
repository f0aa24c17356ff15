// Applies two directory files in turn until it is killed: `node … FILE FILE`.
import 'reflect-metadata';
import { readConfig } from '../../../dist/config/config.js';
import { DirectoryDataSource } from '../../../dist/database/connections/data-source.js';
import { Database } from '../../../dist/database/database.js';
import { Revisions } from '../../../dist/database/revisions/revisions.js';
import { ENTITIES } from '../../../dist/entities.js';
import { Leadership } from '../../../dist/mirror/sync/leadership.js';
import { MirrorState } from '../../../dist/mirror/status/mirror-state.js';
import { Synchronizer } from '../../../dist/mirror/sync/synchronizer.js';
import { LdifSource } from '../../../dist/sources/ldif/ldif-source.js';

const config = readConfig();
const dataSource = new DirectoryDataSource(config.database, ENTITIES);
await dataSource.initialize();
const database = new Database(dataSource);
const revisions = new Revisions(config, database);
const leadership = Leadership.ofCommand();
const state = new MirrorState(database, dataSource, leadership);
const synchronizer = new Synchronizer(config, dataSource, state, revisions, leadership);
const sources = process.argv.slice(2).map((file) => new LdifSource(config.directory, { kind: 'file', file }));
for (let turn = 0; ; turn++) {
  const { kind } = await synchronizer.run(sources[turn % sources.length], { force: true });
  if (kind === 'failed') throw new Error('A run failed');
  // A line per run: a reader can measure its duration, and after the reader has ended, the next line ends this process.
  console.log('applied');
}
