// Measures how soon a change of an LDAP directory is visible, and the cost of synchronization, with servers, PostgreSQL and the
// service as separate processes: `npm run bench:live`, or only some parts by their names. It is not part of the tests.
import { measureKinds } from './live/kinds.mjs';
import { measureLargeGroups } from './live/large-groups.mjs';
import { measureStreams } from './live/streams.mjs';
import { measureLargeDirectory, measureSingleChanges } from './live/single-changes.mjs';

const PARTS = {
  kinds: measureKinds,
  changes: measureSingleChanges,
  directory: measureLargeDirectory,
  groups: measureLargeGroups,
  streams: measureStreams,
};

const names = process.argv.slice(2);
for (const name of names.length === 0 ? Object.keys(PARTS) : names) {
  if (PARTS[name] === undefined) throw new Error(`The parts are ${Object.keys(PARTS).join(', ')}`);
  await PARTS[name]();
}
