import type { Rule } from 'eslint';

export const plainWords: Rule.RuleModule;
export function findWord(text: string, isIdentifier?: boolean): string | null;
