import { styleText } from 'node:util';

/** Assumed width if the output is not a terminal or reports no width. */
export const COLUMNS = 80;

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Styles text for a terminal. Node decides by the stream, NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Cuts a line to the maximum length, and marks the cut by the last character (pure). */
export function cut(text: string, most: number): string {
  const signs = [...text];
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join('')}…`;
}
