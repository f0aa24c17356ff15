import type { ChangedObjects } from '../../database/revisions/changed-objects.js';
import {
  bitsOf,
  type Dependencies,
  KEYED,
  type KeyedDependency,
} from '../../database/statements/dependencies.js';

/** Names of cached responses: one, as for most dependencies, or several. A set takes three times the memory. */
type Names = string | Set<string>;

/** Bytes of one dependency of one response. */
const DEPENDENCY_BYTES = 100;

/** The cached responses by what they depend on, so that a revision costs in proportion to what it changed. */
export class DependencyIndex {
  private readonly byKey: Readonly<Record<KeyedDependency, Map<number, Names>>> = {
    users: new Map(),
    groups: new Map(),
    members: new Map(),
    memberOf: new Map(),
  };
  private readonly byBit = new Map<number, Names>();

  add(name: string, dependencies: Dependencies): void {
    for (const [names, dependency] of this.placesOf(dependencies)) {
      const known = names.get(dependency);
      if (known === undefined) names.set(dependency, name);
      else if (typeof known !== 'string') known.add(name);
      else if (known !== name) names.set(dependency, new Set([known, name]));
    }
  }

  delete(name: string, dependencies: Dependencies): void {
    for (const [names, dependency] of this.placesOf(dependencies)) {
      const known = names.get(dependency);
      if (known === name) names.delete(dependency);
      else if (typeof known === 'object' && known.delete(name) && known.size === 0) names.delete(dependency);
    }
  }

  /** The names of the responses that a revision changes. */
  listChanged(changed: ChangedObjects): Set<string> {
    const found = new Set<string>();
    for (const [names, dependency] of this.placesOf({ ...changed, bits: bitsOf(changed) })) {
      const known = names.get(dependency);
      if (typeof known === 'string') found.add(known);
      else known?.forEach((name) => found.add(name));
    }
    return found;
  }

  private *placesOf(dependencies: Dependencies): Generator<[Map<number, Names>, dependency: number]> {
    for (let bit = 1; bit <= dependencies.bits; bit *= 2) {
      if ((dependencies.bits & bit) !== 0) yield [this.byBit, bit];
    }
    for (const kind of KEYED) for (const key of dependencies[kind]) yield [this.byKey[kind], key];
  }
}

export function bytesOfDependencies(dependencies: Dependencies): number {
  return KEYED.reduce((sum, kind) => sum + dependencies[kind].length * DEPENDENCY_BYTES, 0);
}
