import { readFileSync } from 'node:fs';

export interface Build {
  readonly version: string;
  /** Null where nothing was built from a checkout, as in tests. */
  readonly commit: string | null;
}

/** What was built: written by scripts/write-build.mjs beside the compiled code. */
export function readBuild(): Build {
  const read = (path: string): Partial<Build> => {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Partial<Build>;
    } catch {
      return {}; // Not built: the package tells its version.
    }
  };
  const build = read('../build.json');
  return {
    version: build.version ?? read('../../package.json').version ?? 'unknown',
    commit: build.commit ?? null,
  };
}
