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
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  const [best] = ranked;
  const isSimilar = best !== undefined && best.distance <= Math.max(1, Math.floor(word.length * 0.4));
  return isSimilar ? best.candidate : null;
}

/** Levenshtein distance of the first 64 characters. */
function distanceOf(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, character] of [...left.slice(0, 64)].entries()) {
    const current = [row + 1];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (right[column - 1] === character ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
