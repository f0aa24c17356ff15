import { existsSync, readFileSync } from 'node:fs';

export interface Build {
  readonly version: string;
  /** Null if the build was not made from a checkout, as in tests. */
  readonly commit: string | null;
}

/** The version and the commit that scripts/write-build.mjs has written beside the compiled code, or else the version of the package. */
export function readBuild(): Build {
  const written = new URL('../build.json', import.meta.url);
  const file = existsSync(written) ? written : new URL('../../package.json', import.meta.url);
  const build = JSON.parse(readFileSync(file, 'utf8')) as Pick<Build, 'version'> & Partial<Build>;
  return { version: build.version, commit: build.commit ?? null };
}
