import { suggestionList } from 'graphql/jsutils/suggestionList.js';
import { printable } from '../../common/printable.js';

/** Text that may have parts of the file, in a message: bounded, and safe for a line of a terminal. */
export function clean(text: string, most = 200): string {
  // Half of a pair of surrogates is left out.
  return printable(text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text);
}

/** Text of the file in a message. */
export function quote(text: string): string {
  return `«${clean(text, 60)}»`;
}

/** Returns the candidate that is most similar to a word, if one is similar enough to be a typing error. */
export function closestTo(word: string, candidates: readonly string[]): string | null {
  return suggestionList(word.slice(0, 64), candidates)[0] ?? null;
}
