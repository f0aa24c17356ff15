type Numbers = Readonly<Record<string, number>>;

/** The latest numbers that a server has given to changes, and what it includes of those of others. */
export interface NumberedState {
  /** Identifies the server and its numbers. Numbers of different origins are not comparable. */
  readonly origin: string;
  /** The latest number of each database, by the DN of its suffix. Empty: the server shows only what it includes. */
  readonly latest: Numbers;
  /**
   * The number up to which the changes of each server are included, by the identity of its database. Of a position: those that
   * another server must have, so that the mirror does not go back. Undefined: it is not known.
   */
  readonly included?: Numbers | undefined;
  /** Whether `included` has the changes of all servers, and not only those of this one. */
  readonly showsOthers?: boolean | undefined;
}

/**
 * Describes how a server lacks changes of the known numbers; null when it does not, or when it is unknown, because another server
 * does not show what it includes.
 */
export function describeLag(known: NumberedState | null, current: NumberedState | null): string | null {
  if (known === null || current === null) return null;
  const behind = 'The directory server is behind what is known';
  if (known.origin === current.origin && isLess(current.latest, known.latest, Infinity))
    return `${behind}: the numbers of its changes went back`;
  return current.showsOthers === true && isLess(current.included ?? {}, known.included ?? {}, 0)
    ? `${behind}: it lacks changes of another server of the directory`
    : null;
}

/** Completes the numbers after changes: what is known remains known where the server hides it. */
export function withKnownNumbers(now: NumberedState, known: NumberedState | null): NumberedState {
  const included = { ...known?.included, ...now.included };
  return known?.included === undefined && now.included === undefined ? now : { ...now, included };
}

function isLess(numbers: Numbers, known: Numbers, absent: number): boolean {
  return Object.entries(known).some(([key, number]) => (numbers[key] ?? absent) < number);
}

/** Null: it is not what a position contains. */
export function parseNumbers(value: unknown): NumberedState | null {
  const { origin, latest, included, showsOthers } = (value ?? {}) as Record<string, unknown>;
  if (typeof origin !== 'string' || !areNumbers(latest)) return null;
  return {
    origin,
    latest,
    ...(areNumbers(included) && { included }),
    ...(showsOthers === true && { showsOthers }),
  };
}

function areNumbers(value: unknown): value is Numbers {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => Number.isSafeInteger(each))
  );
}
