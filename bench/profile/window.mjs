// Preloaded into a server: SIGUSR2 begins a profile, the next one ends it and writes it down. What the server does while
// it starts would hide what it does for requests.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/** Microseconds between two looks. */
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
  writeFileSync(process.env.PROFILE_FILE, JSON.stringify(profile));
  console.log('Profiled');
}
