import { fold } from '../../common/fold.js';
import type { Values } from '../statements/values.js';

/**
 * The SQL condition for rows whose id or name contains the folded text. Three characters and more are found by
 * trigrams, which shorter ones do not have: those are found by the pairs of characters that the mirror keeps.
 * @param table alias of `users` or `groups`
 */
export function searchCondition(table: string, folded: string, values: Values): string {
  const length = [...folded].length;
  if (length === 0) return 'false';
  if (length === 1) return `${table}.search_pairs @> array[${values.add(` ${folded}`)}::text]`;
  if (length === 2) return `${table}.search_pairs @> array[${values.add(folded)}::text]`;
  return `${table}.search_text like ${values.add(`%${escapeLike(folded)}%`)}::text`;
}

/** Nothing that is typed is a pattern. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** The text that rows are searched by: folded id and name, each word after a space. */
export function searchText(id: string, name: string): string {
  return ` ${fold(id).trim()} ${fold(name).trim()}`;
}

/** Every pair of neighbouring characters of a search text, each once. */
export function searchPairs(text: string): string[] {
  const characters = [...text];
  return [
    ...new Set(characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)),
  ];
}
