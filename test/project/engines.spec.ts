import { readFileSync } from 'node:fs';

interface Package {
  readonly version?: string;
  readonly engines?: { readonly node?: string } | readonly string[];
  readonly optional?: boolean;
}

/** A package without types. */
const { minVersion, satisfies } = jest.requireActual<{
  minVersion: (range: string) => { readonly version: string } | null;
  satisfies: (version: string, range: string) => boolean;
}>('semver');

describe('the packages of package-lock.json', () => {
  it('accept the oldest Node.js of `engines`, so that an installation prints no warning', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, Package>;
    };
    const oldest = minVersion(engines.node)?.version ?? '';
    expect(oldest).toMatch(/^\d+\.\d+\.\d+$/);
    const refusing = Object.entries(packages).filter(([, each]) => {
      const range = Array.isArray(each.engines)
        ? undefined
        : (each.engines as { node?: string } | undefined)?.node;
      return range !== undefined && !satisfies(oldest, range);
    });
    expect(refusing.map(([path, { version }]) => `${path}@${version ?? ''}`)).toEqual([]);
  });
});
