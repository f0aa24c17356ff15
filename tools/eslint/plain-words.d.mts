import type { Rule } from 'eslint';

export const plainWords: Rule.RuleModule;
export function findWord(text: string, isIdentifier?: boolean, allowed?: readonly string[]): string | null;
