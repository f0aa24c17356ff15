// After `npm ci`: deletes what nothing reads of the installed packages, a quarter of their size. These are source maps, and the builds
// of the explorer's editor for other loaders and for TypeScript.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGES = 'node_modules';

for (const part of ['dev', 'min', 'min-maps', 'esm/vs/language/typescript'])
  rmSync(join(PACKAGES, 'monaco-editor', part), { recursive: true, force: true });
for (const file of readdirSync(PACKAGES, { recursive: true }))
  if (/\.(?:[cm]?[jt]s|css)\.map$/.test(file)) rmSync(join(PACKAGES, file));
