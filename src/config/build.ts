import { readFileSync } from 'node:fs';

export interface Build {
  readonly version: string;
  /** Null if the build was not made from a checkout, as in tests. */
  readonly commit: string | null;
}

/** The version and the commit that scripts/write-build.mjs has written beside the compiled code. */
export function readBuild(): Build {
  const read = (path: string): Partial<Build> => {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Partial<Build>;
    } catch {
      return {}; // Not built. The version is that of package.json.
    }
  };
  const build = read('../build.json');
  return {
    version: build.version ?? read('../../package.json').version ?? 'unknown',
    commit: build.commit ?? null,
  };
}
