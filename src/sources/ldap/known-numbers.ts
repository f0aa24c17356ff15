import { describeLag, type NumberedState } from './numbered-state.js';
import { formatPosition, parsePosition, type Position } from './position.js';

/** What a position says of the numbers of its server, however the server is followed; null when it shows none. */
export function numbersOf(position: Position | null): NumberedState | null {
  return position?.kind === 'count' ? position : (position?.numbers ?? null);
}

/**
 * The position after a reading that changed nothing. Numbers also grow with changes that are not mirrored, and which no other server
 * gets, such as those of logons: another server needs only what was needed before.
 */
export function withNeeded(known: string | null, reached: string | null): string | null {
  const before = numbersOf(parsePosition(known));
  const position = parsePosition(reached);
  const after = numbersOf(position);
  if (before?.included === undefined || position === null || after === null) return reached;
  if (describeLag(before, after) !== null) return reached;
  const { included } = before;
  return formatPosition(
    position.kind === 'count' ? { ...position, included } : { ...position, numbers: { ...after, included } },
  );
}
