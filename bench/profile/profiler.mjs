// Preloaded into a server: SIGUSR2 starts a profile, and the next SIGUSR2 ends and writes it. So the profile does not contain
// the start of the server.
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/** Sampling interval in microseconds. */
const INTERVAL = 200;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: INTERVAL });

let isRunning = false;
process.on('SIGUSR2', () => {
  void (isRunning ? end() : session.post('Profiler.start'));
  isRunning = !isRunning;
});

async function end() {
  const { profile } = await session.post('Profiler.stop');
  const file = process.env.PROFILE_FILE;
  writeFileSync(`${file}.part`, JSON.stringify(profile));
  renameSync(`${file}.part`, file);
}
