// Serves, and serves anew after each change: what is saved is compiled by Nest's compiler, and the service is started again.
//
// `nest start --watch` would do the same in a second more: it ends the service by SIGTERM, upon which one stays for a
// second so that balancers notice, and two changes in that second make it start a process beside the one that ends.
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { clearTimeout, setTimeout } from 'node:timers';

/** Milliseconds after which no other file of the same change is expected. */
const QUIET = 30;

let server = null;
/** Who serves next. */
let reserve = prepare();
let isStale = false;
let isEnding = false;
let watcher = null;
let writer = null;
let timer;

function prepare() {
  return spawn(process.execPath, ['scripts/dev-process.mjs'], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
}

function serve() {
  isStale = false;
  server = reserve;
  server.send('serve');
  reserve = prepare();
  server.once('exit', () => {
    server = null;
    if (isStale) serve();
  });
}

/** One process at a time: the embedded database takes no second one. */
function serveAnew() {
  if (isEnding) return;
  if (server === null) {
    serve();
    return;
  }
  isStale = true;
  // As by Ctrl+C: it ends at once.
  server.kill('SIGINT');
}

/** The pages of the schema as it is now, made once: nobody waits for them. */
function writeReference() {
  const child = spawn('npm', ['run', 'compile:reference'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return child;
}

const compiler = spawn(process.execPath, ['node_modules/.bin/nest', 'build', '--watch'], {
  stdio: ['ignore', 'inherit', 'pipe'],
});
// The compiler tells what it does on standard error.
compiler.stderr.on('data', (chunk) => {
  process.stderr.write(chunk);
  if (watcher !== null || !chunk.includes('Successfully compiled')) return;
  watcher = watch('dist', { recursive: true }, (_event, name) => {
    // What the pages of the reference load is no code of the service.
    if (!/^(?!reference-pages).*\.m?js$/.test(name ?? '')) return;
    clearTimeout(timer);
    timer = setTimeout(serveAnew, QUIET);
  });
  serve();
  writer = writeReference();
});
compiler.once('exit', (code) => {
  process.exitCode = code ?? 0;
  end();
});

function end() {
  isEnding = true;
  compiler.kill();
  watcher?.close();
  writer?.kill();
  isStale = false;
  clearTimeout(timer);
  if (server !== null) server.kill('SIGINT');
  reserve.kill();
}
// A terminal tells the whole group; whoever else ends this script tells nobody but it.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end);
