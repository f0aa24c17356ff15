import { existsSync } from 'node:fs';

// The package has the build alone; a checkout compiles when its sources are newer than the build.
const ensureBuild = new URL('../scripts/ensure-build.mjs', import.meta.url);
if (existsSync(ensureBuild)) await import(ensureBuild.href);
await import('../dist/bundled/cli.js');
