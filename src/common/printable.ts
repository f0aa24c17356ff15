/** Characters that move the cursor of a terminal, change the direction of text, or end a line, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Makes text of others safe for one line of a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The ends of lines, and every control character but NUL, which no text has. */
const NOT_IN_ONE_LINE = /\r\n|(?!\0)\p{Cc}|[\u2028\u2029]/gu;

/** Replaces each end of a line and each other control character by a space. */
export function inOneLine(text: string): string {
  return text.replace(NOT_IN_ONE_LINE, ' ');
}
