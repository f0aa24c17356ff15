import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import type { Position } from './position.js';

/** The latest time at which an entry was changed, by the directory's own clock (RFC 4517 §3.3.13). */
export class DirectoryClock {
  /** @param latest the latest known time; an empty text precedes every time */
  constructor(
    private readonly attribute: string,
    public latest = '',
  ) {}

  note(entry: Entry): void {
    const [bytes] = entry.bytes(this.attribute);
    const instant = bytes === undefined ? null : decodeUtf8(bytes);
    // One server writes all timestamps in one format, in which their order is the order of their text.
    if (instant !== null && instant > this.latest) this.latest = instant;
  }
}

/**
 * The time from which the next poll reads changes (pure).
 * @param latest the latest change that this poll read
 * @param isLater this poll began at least one second after the previous one had ended. No more changes can
 *   occur in the second of the previous poll's latest change, so it is not read again in every poll
 */
export function sinceAfter(
  position: Pick<Extract<Position, { kind: 'look' }>, 'since' | 'latest'>,
  latest: string,
  isLater: boolean,
): string {
  const next = isLater && latest === position.latest ? instantAfter(latest) : position.latest;
  return next > position.since ? next : position.since;
}

/** The next time in whole seconds, of RFC 4517 §3.3.13 or RFC 3339. Times in other formats are returned unchanged. */
function instantAfter(instant: string): string {
  const parts = /^(\d{4})(-?)(\d\d)-?(\d\d)(T?)(\d\d):?(\d\d):?(\d\d)((?:\.0+)?(?:Z|\+00:00))$/.exec(instant);
  const [, year = '', dash = '', month = '', day = '', , hour = '', minute = '', second = '', zone = ''] =
    parts ?? [];
  const next = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`).getTime() + 1000;
  if (Number.isNaN(next)) return instant;
  const text = new Date(next).toISOString().replace(/\..*/, '');
  return `${dash === '' ? text.replace(/[-:T]/g, '') : text}${zone}`;
}
