import { styleText } from 'node:util';

/** Columns of a terminal that does not say how many it has, and of what is no terminal. */
export const COLUMNS = 80;

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Styles text where it is read on a terminal: Node looks at the stream, NO_COLOR and FORCE_COLOR. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

/** Cuts a line that is longer than it may be, and says so by its last sign (pure). */
export function cut(text: string, most: number): string {
  const signs = [...text];
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join('')}…`;
}
