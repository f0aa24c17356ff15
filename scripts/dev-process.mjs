// A process that `npm run dev` has in reserve: it loads what never changes, and serves when it is told to. Loading that is
// half of what a start takes.
import { readFileSync } from 'node:fs';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const told = new Promise((resolve) => process.once('message', resolve));
// What cannot be loaded is for the service to complain about.
await Promise.allSettled(Object.keys(dependencies).map((name) => import(name)));
await told;
// The channel would keep it from ending.
process.disconnect();
await import('../dist/main.js');
