// How long requests take while a changed LDIF file is read again, and how soon its changed record is visible.
import { once } from 'node:events';
import { createWriteStream, renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../measure/statistics.mjs';
import { records } from '../large-directory.mjs';
import { longestOf, p99Of, runSlices, splitSlices, timeUntil } from './slices.mjs';

const CHANGES = 8;
/** Milliseconds between two changes: several slices, in which the service only responds. */
const PAUSE = 2000;
const RENAMED = 'Another Name';

/** Replaces the file at once, as an export should. @param renamed the number of a user with another name */
export async function writeLdif(file, size, renamed = null) {
  const next = `${file}.next`;
  const stream = createWriteStream(next);
  stream.write('version: 1\n\n');
  for (const lines of records(size, renamed))
    if (!stream.write(`${lines.join('\n')}\n\n`)) await once(stream, 'drain');
  stream.end();
  await once(stream, 'finish');
  renameSync(next, file);
}

export async function measureChangedFile({ service, run, file, size, token }) {
  const visible = [];
  const periods = [];
  let isOver = false;
  const slices = runSlices(run, () => isOver);
  for (let number = 1; number <= CHANGES; number++) {
    await writeLdif(file, size, number);
    const from = Date.now();
    const query = `{ user(user: {id: "person.${number}"}) { name } }`;
    visible.push(await timeUntil(async () => (await service.execute(query, token)).user.name === RENAMED));
    periods.push({ from, until: Date.now() });
    await sleep(PAUSE);
  }
  isOver = true;
  const { during, between } = splitSlices(await slices, periods);
  return {
    longest: longestOf(during),
    p99: p99Of(during),
    p99Between: p99Of(between),
    visible: median(visible),
  };
}
