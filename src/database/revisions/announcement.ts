import { isUuid } from '../../common/uuid.js';
import type { ReportedFreshness } from './freshness.js';
import type { Revision } from './revision.js';

/** The channel that announces a new revision. */
export const REVISION_CHANNEL = 'directory_revision';

/** A new revision, as the process that applied it describes it to the others (docs/adr/0032). */
export interface Announcement extends Revision, ReportedFreshness {
  /** The id of the revision before it; null: it is the first one. */
  readonly previous: string | null;
  /** Whether rules hide something, and the same with the log of changes. */
  readonly hides: boolean;
  readonly hidesInLog: boolean;
}

/** Null if the payload is not that of an announcement: another release, or another session, has written it. */
export function announcementIn(payload: string | undefined): Announcement | null {
  if (payload?.startsWith('{') !== true) return null;
  try {
    const announcement = JSON.parse(payload) as Announcement;
    return isAnnouncement(announcement) ? announcement : null;
  } catch {
    // Every session can send notifications. The primary is then queried.
    return null;
  }
}

/** The largest `integer` of PostgreSQL. */
const MAX_INTEGER = 2 ** 31 - 1;

/** The number and the ids are sent back to PostgreSQL, which rejects other values in each later query. */
function isAnnouncement({ number, id, previous, asOf, age }: Announcement): boolean {
  const hasIds = [id, previous].every((each) => typeof each === 'string' && isUuid(each));
  return (
    hasIds &&
    Number.isInteger(number) &&
    number > 0 &&
    number <= MAX_INTEGER &&
    [asOf, age].every(Number.isFinite)
  );
}
