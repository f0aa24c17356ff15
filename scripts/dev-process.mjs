// A process that `npm run dev` has in reserve: it loads what never changes, and serves when it is told to. Loading that is
// half of what a start takes.
import { readFileSync } from 'node:fs';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const told = new Promise((resolve) => process.once('message', resolve));
// The entry of this one warns of each Node older than 22; the service loads its parts.
const PARTS = { 'oidc-provider': 'oidc-provider/lib/provider.js' };
// What cannot be loaded is for the service to complain about.
await Promise.allSettled(Object.keys(dependencies).map((name) => import(PARTS[name] ?? name)));
await told;
// The channel would keep it from ending.
process.disconnect();
await import('../dist/main.js');
