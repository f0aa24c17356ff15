import { existsSync, readFileSync } from 'node:fs';

/** The version and the commit that scripts/write-build.mjs has written beside the compiled code, or else the version of the package. */
export function readBuild() {
  const written = new URL('../build.json', import.meta.url);
  const file = existsSync(written) ? written : new URL('../../package.json', import.meta.url);
  // There is no commit if the build was not made from a checkout, as in tests.
  const { version, commit } = JSON.parse(readFileSync(file, 'utf8')) as { version: string; commit?: string };
  return { version, commit: commit ?? null };
}
