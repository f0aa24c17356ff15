// Sums the self time of a profile by function and by package.

const IDLE = new Set(['(idle)', '(program)', '(root)']);
const ROWS = 25;

/** @param profile a Profiler.Profile of the Chrome DevTools Protocol */
export function summarizeProfile({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const functions = new Map();
  const packages = new Map();
  let total = 0;
  samples.forEach((id, index) => {
    const frame = byId.get(id);
    const time = timeDeltas[index] ?? 0;
    if (IDLE.has(frame.functionName)) return;
    total += time;
    add(functions, placeOf(frame), time);
    add(packages, packageOf(frame), time);
  });
  return { functions: largest(functions, total), packages: largest(packages, total) };
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

function shorten(url) {
  return url.replace(/^.*node_modules\//, '').replace(/^file:\/\/.*?\/((?:dist|bench)\/)/, '$1');
}
