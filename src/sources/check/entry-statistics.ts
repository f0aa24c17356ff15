import type { Finding } from '../../common/finding.js';
import type { Entry } from '../../ldap/entry.js';
import type { EntryKind } from '../source.js';

/** What a check counts of the entries of a directory. */
export interface EntryStatistics {
  add(kind: EntryKind, entry: Entry): void;
  /** The findings after all entries. They contain no names of entries. */
  findings(): Iterable<Finding>;
}
