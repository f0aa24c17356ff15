import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import type { Position } from './position.js';

/** The latest instant at which an entry was changed, by the directory's own clock (RFC 4517 §3.3.13). */
export class DirectoryClock {
  /** @param latest what is known already; an empty text is before every instant */
  constructor(
    private readonly attribute: string,
    public latest = '',
  ) {}

  note(entry: Entry): void {
    const [bytes] = entry.bytes(this.attribute);
    const instant = bytes === undefined ? null : decodeUtf8(bytes);
    // One server writes all of them in one form, in which their order is that of their characters.
    if (instant !== null && instant > this.latest) this.latest = instant;
  }
}

/**
 * From which instant on the next look asks (pure).
 * @param latest the latest change that this look saw
 * @param isLater this look began a second or more after the one before had ended: in the second of a change that it
 *   saw then, nothing can be changed any more. Otherwise what an import changed in one second would be read for ever
 */
export function sinceAfter(
  position: Pick<Extract<Position, { kind: 'look' }>, 'since' | 'latest'>,
  latest: string,
  isLater: boolean,
): string {
  const next = isLater && latest === position.latest ? instantAfter(latest) : position.latest;
  return next > position.since ? next : position.since;
}

/** The first instant after one in whole seconds (RFC 4517 §3.3.13); others stay as they are. */
function instantAfter(instant: string): string {
  const [, date = '', hour, minute, second, zone = ''] =
    /^(\d{8})(\d\d)(\d\d)(\d\d)((?:\.0+)?Z)$/.exec(instant) ?? [];
  const day = date.replace(/^(....)(..)(..)$/, '$1-$2-$3');
  const next = new Date(`${day}T${hour ?? ''}:${minute ?? ''}:${second ?? ''}Z`).getTime() + 1000;
  return Number.isNaN(next) ? instant : `${new Date(next).toISOString().replace(/[-:T]|\..*/g, '')}${zone}`;
}
