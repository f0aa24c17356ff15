import { isUtf8 } from 'node:buffer';

const NOTHING: readonly Buffer[] = [];
const NO_URLS: ReadonlySet<string> = new Set();
/**
 * The key of an attribute in an entry: type and options, case-insensitive and with the options in any order
 * (RFC 4512 §2.5). `;binary` only selects a transfer encoding and is not part of the key (RFC 4522 §3).
 */
export function attributeKey(description: string): string {
  const lowered = description.toLowerCase();
  if (!lowered.includes(';')) return lowered;
  const [type = '', ...options] = lowered.split(';');
  const kept = new Set(options.filter((option) => option !== 'binary').sort());
  return [type, ...kept].join(';');
}

/**
 * A directory entry as read from a file or a server: its DN as written, and its attributes as bytes. An
 * attribute with options, such as `cn;lang-fr`, is a separate attribute: its values are not values of `cn`.
 */
export class Entry {
  /** Values by attributeKey, in the order in which they were read. */
  readonly attributes: ReadonlyMap<string, readonly Buffer[]>;
  private readonly hasOptions: boolean;

  /** A description may occur more than once, in any spelling: its values are concatenated. */
  constructor(
    readonly dn: string,
    attributes: Iterable<readonly [description: string, values: readonly Buffer[]]>,
    /** The attributes with values that a file gives by URL, by attributeKey. These values are not read. */
    readonly withUrls: ReadonlySet<string> = NO_URLS,
  ) {
    const joined = new Map<string, readonly Buffer[]>();
    for (const [description, values] of attributes) {
      const key = attributeKey(description);
      const earlier = joined.get(key);
      joined.set(key, earlier === undefined ? values : [...earlier, ...values]);
    }
    this.attributes = joined;
    this.hasOptions = [...joined.keys()].some((key) => key.includes(';'));
  }

  /** The values as bytes; empty when the entry has no such attribute. */
  bytes(name: string): readonly Buffer[] {
    return this.attributes.get(attributeKey(name)) ?? NOTHING;
  }

  /** As `bytes`, with the values of subtypes by options, as filters match them: `cn;lang-fr` is one of `cn` (RFC 4512 §2.5.2.1). */
  bytesOfSubtypes(name: string): readonly Buffer[] {
    if (!this.hasOptions) return this.bytes(name);
    const [type, ...options] = attributeKey(name).split(';');
    return [...this.attributes].flatMap(([key, values]) => {
      const [otherType, ...others] = key.split(';');
      return otherType === type && options.every((option) => others.includes(option)) ? values : [];
    });
  }

  /**
   * The values as text; empty when the entry has no such attribute. Bytes that are not UTF-8 become
   * replacement characters.
   */
  text(name: string): string[] {
    return this.bytes(name).map((value) => value.toString('utf8'));
  }
}

/** The text that the bytes encode; null when they are not UTF-8. A byte order mark is kept. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}
