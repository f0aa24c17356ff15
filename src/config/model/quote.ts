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
