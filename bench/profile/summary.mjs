// Sums the self time of a profile by function, by package, and by part of a server.

const IDLE = new Set(['(idle)', '(program)', '(root)']);
const ROWS = 25;

/** @param profile a Profiler.Profile of the Chrome DevTools Protocol */
export function summarizeProfile({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const functions = new Map();
  const packages = new Map();
  const parts = new Map();
  let total = 0;
  samples.forEach((id, index) => {
    const frame = byId.get(id);
    const time = timeDeltas[index] ?? 0;
    if (IDLE.has(frame.functionName)) return;
    total += time;
    add(functions, placeOf(frame), time);
    add(packages, packageOf(frame), time);
    add(parts, partOf(frame), time);
  });
  return {
    functions: largest(functions, total),
    packages: largest(packages, total),
    parts: largest(parts, total),
  };
}

function add(sums, name, time) {
  sums.set(name, (sums.get(name) ?? 0) + time);
}

/** Returns the largest sums as shares of the busy time. */
function largest(sums, total) {
  return [...sums]
    .sort(([, left], [, right]) => right - left)
    .slice(0, ROWS)
    .map(([name, time]) => ({ name, share: time / total }));
}

function placeOf({ functionName, url, lineNumber }) {
  const file = shorten(url);
  return `${functionName === '' ? '(anonymous)' : functionName}${file === '' ? '' : `  ${file}:${lineNumber + 1}`}`;
}

function packageOf({ functionName, url }) {
  if (functionName === '(garbage collector)') return functionName;
  const file = shorten(url);
  if (file === '') return '(V8 and native code)';
  return /^(?:@[^/]+\/)?[^/]+/.exec(file)[0];
}

/** Parts of Node.js in words, by the beginning of the module name. */
const PARTS_OF_NODE = [
  [/^node:(?:_http|internal\/http)/, 'HTTP (Node.js)'],
  [/^node:(?:net|internal\/(?:streams|stream_base|js_stream))/, 'sockets and streams (Node.js)'],
  [/^node:internal\/(?:timers|process)/, 'timers and promises (Node.js)'],
  [/^node:/, 'other parts of Node.js'],
];

/** A part of a server in words: a folder of the service, a package, or a part of Node.js. */
function partOf(frame) {
  const { functionName, url } = frame;
  if (functionName === '(garbage collector)') return 'garbage collection';
  const file = shorten(url);
  if (file === '') return 'V8 and native code, such as system calls and JSON';
  const [, ofNode] = PARTS_OF_NODE.find(([pattern]) => pattern.test(file)) ?? [];
  if (ofNode !== undefined) return ofNode;
  const [, folder] = /^dist\/(.+)\/[^/]+$/.exec(file) ?? [];
  return folder === undefined ? packageOf(frame) : `src/${folder}`;
}

function shorten(url) {
  return url.replace(/^.*node_modules\//, '').replace(/^file:\/\/.*?\/((?:dist|bench)\/)/, '$1');
}
