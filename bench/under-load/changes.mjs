// Cached responses of a service of one process that also follows the directory, while users change whom no response shows.
import { findUnrelatedUsers, whileChanging } from '../data/changing-users.mjs';
import { modify } from '../live/directory.mjs';
import { personDn } from '../large-directory.mjs';
import { median } from '../measure/statistics.mjs';
import { CONNECTIONS } from '../options.mjs';

const ROUNDS = 5;
const SECONDS = 3;
/** Changes per second. */
const RATES = [10, 50];

/** @returns for each rate, the responses a second divided by those without changes */
export async function measureChanges({ run, connection, client, groups }) {
  const users = await findUnrelatedUsers(connection, groups);
  const change = (turn) => {
    const { id } = users[turn % users.length];
    const dn = personDn(id.slice(id.indexOf('.') + 1));
    return modify(client, dn, 'replace', 'schoolYear', `${1 + (turn % 6)}A`);
  };
  const perSecond = async () => {
    const { requests, seconds } = await run({ seconds: SECONDS, connections: CONNECTIONS, rate: null });
    return requests / seconds;
  };
  await perSecond();
  const ratios = RATES.map(() => []);
  let turn = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const without = await perSecond();
    for (const [index, rate] of RATES.entries())
      ratios[index].push((await whileChanging(rate, () => change(turn++), perSecond)) / without);
  }
  return ratios.map(median);
}
