import { fold } from '../../common/fold.js';
import type { Values } from '../statements/values.js';

/**
 * SQL condition for rows whose id or name contains the folded text. Trigrams find texts of three and more
 * characters. Shorter texts have no trigrams and are found by the pairs of characters that the mirror stores.
 * @param table alias of `users` or `groups`
 */
export function searchCondition(table: string, folded: string, values: Values): string {
  const length = [...folded].length;
  if (length === 0) return 'false';
  if (length === 1) return `${table}.search_pairs @> array[${values.add(` ${folded}`)}::text]`;
  if (length === 2) return `${table}.search_pairs @> array[${values.add(folded)}::text]`;
  return `${table}.search_text like ${values.add(`%${escapeLike(folded)}%`)}::text`;
}

/** Escapes all wildcards: user input is never a pattern. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** Returns the text that searches match: the folded values, each preceded by a space. */
export function searchText(values: readonly string[]): string {
  return values.map((value) => ` ${fold(value).trim()}`).join('');
}

/** Returns every distinct pair of neighboring characters of a search text. */
export function searchPairs(text: string): string[] {
  const characters = [...text];
  return [
    ...new Set(characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)),
  ];
}
