import type { Entry } from '../entry.js';
import { LdapProtocolError } from './ldap-error.js';

const OPTION = ';range=';

/** A part of the values of an attribute ([MS-ADTS] 3.1.1.3.1.3.3). */
interface ValueRange {
  /** The attribute description without the range. */
  readonly attribute: string;
  readonly first: number;
  /** Null: the values to the end. */
  readonly last: number | null;
}

/**
 * Whether a server sent only a part of the values of an attribute. Active Directory does so for attributes with more
 * than 1,500 values, or 5,000 in newer versions.
 */
export function hasRanges(entry: Entry): boolean {
  for (const key of entry.attributes.keys()) if (key.includes(OPTION)) return true;
  return false;
}

/**
 * Parses the range in an attribute key; null when the key has none.
 * @param key see attributeKey: its options are in lower case and sorted
 * @throws {LdapProtocolError} when the range is malformed
 */
export function parseRange(key: string): ValueRange | null {
  if (!key.includes(OPTION)) return null;
  const [type = '', ...options] = key.split(';');
  const ranges = options.map((option) => /^range=(\d{1,9})-(\d{1,9}|\*)$/.exec(option));
  const range = ranges.find((each) => each !== null);
  if (range === undefined) throw new LdapProtocolError('a malformed range of values');
  const [text, first = '', last = ''] = range;
  const others = options.filter((option) => option !== text);
  return {
    attribute: [type, ...others].join(';'),
    first: Number(first),
    last: last === '*' ? null : Number(last),
  };
}
