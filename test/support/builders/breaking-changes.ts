import type { GraphQLSchema } from 'graphql';
import { findBreakingChanges } from '../../../src/commands/breaking-changes.js';

/** The messages of the breaking changes. */
export async function findBreaks(released: GraphQLSchema, current: GraphQLSchema): Promise<string[]> {
  const changes = await findBreakingChanges(released, current);
  return changes.map(({ message }) => message);
}

/** Returns the breaking changes, each with its remedy; empty if there are none. */
export function explainBreaks(breaks: readonly string[], version: string): string {
  if (breaks.length === 0) return '';
  return [
    `This schema breaks clients of ${version} (released/schema.graphql):`,
    ...breaks.map((each) => `  ${each}`),
    'Leave what there is as it is, and add beside it what is to take its place. What is to go is deprecated first,',
    'for six months at least: CONTRIBUTING.md says how.',
  ].join('\n');
}
