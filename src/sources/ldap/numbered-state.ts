type Numbers = Readonly<Record<string, number>>;

/** The latest numbers that a server has given to changes. */
export interface NumberedState {
  /** Identifies the server and its numbers. Numbers of different origins are not comparable. */
  readonly origin: string;
  /** The latest number of each database, by the DN of its suffix. */
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
export function describeLag(known: NumberedState, current: NumberedState): string | null {
  const behind = 'The directory server is behind what is known';
  if (known.origin === current.origin && isLess(current.latest, known.latest, Infinity))
    return `${behind}: the numbers of its changes went back`;
  return current.showsOthers === true && isLess(current.included ?? {}, known.included ?? {}, 0)
    ? `${behind}: it lacks changes of another server of the directory`
    : null;
}

function isLess(numbers: Numbers, known: Numbers, absent: number): boolean {
  return Object.entries(known).some(([key, number]) => (numbers[key] ?? absent) < number);
}

export function areNumbers(value: unknown): value is Numbers {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => Number.isSafeInteger(each))
  );
}
