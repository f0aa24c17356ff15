import { Extensions } from '@nestjs/graphql';
import type { SelectedField } from './operation.js';

/**
 * What an answer depends on, besides the operation and the scopes of the token: the revision of the mirror, the
 * person that the token acts for, or the minute in which signed URLs are given out.
 */
export type Dependence = 'mirror' | 'subject' | 'minute';

/**
 * Declares what a field depends on. Answers are remembered where every root field depends on nothing but what it
 * declares; a root field that declares nothing is asked anew each time.
 */
export function DependsOn(...dependences: Dependence[]): MethodDecorator {
  return Extensions({ dependsOn: dependences });
}

/** What an operation depends on, whatever its variables leave out; null: on more than is declared. */
export function dependencesOf(roots: ReadonlyMap<string, SelectedField>): ReadonlySet<Dependence> | null {
  const found = new Set<Dependence>();
  for (const root of roots.values()) {
    if (root.field.name !== '__typename' && declaredBy(root).length === 0) return null;
    addDependences(root, found);
  }
  return found;
}

function addDependences(selected: SelectedField, into: Set<Dependence>): void {
  for (const dependence of declaredBy(selected)) into.add(dependence);
  for (const child of selected.children.values()) addDependences(child, into);
}

function declaredBy({ field }: SelectedField): readonly Dependence[] {
  return (field.extensions['dependsOn'] as readonly Dependence[] | undefined) ?? [];
}
