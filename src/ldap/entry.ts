import { isUtf8 } from 'node:buffer';

/** A value that should be text is not UTF-8. It names the attribute, so that the caller can leave that one out. */
export class InvalidEncodingError extends Error {
  constructor(readonly attribute: string) {
    super(`a value of ${attribute} is not UTF-8`);
    this.name = 'InvalidEncodingError';
  }
}

const NOTHING: readonly Buffer[] = [];

/**
 * The name under which an entry keeps an attribute: type and options without regard to case or to the order of
 * the options (RFC 4512 §2.5). `;binary` says how a value is transferred and is no part of the name (RFC 4522 §3).
 */
export function attributeKey(description: string): string {
  const lowered = description.toLowerCase();
  if (!lowered.includes(';')) {
    return lowered;
  }
  const [type = '', ...options] = lowered.split(';');
  const kept = new Set(options.filter((option) => option !== 'binary').sort());
  return [type, ...kept].join(';');
}

/**
 * An entry of the directory as it was read, from a file or from a server: its DN as written, and its attributes
 * as bytes. An attribute with options, such as `cn;lang-fr`, is an attribute of its own, found only by its full
 * description.
 */
export class Entry {
  /** Values by attributeKey, in the order in which they were read. */
  readonly attributes: ReadonlyMap<string, readonly Buffer[]>;

  /** A description may come more than once, in any spelling: the values are joined. */
  constructor(
    readonly dn: string,
    attributes: Iterable<readonly [description: string, values: readonly Buffer[]]>,
  ) {
    const joined = new Map<string, readonly Buffer[]>();
    for (const [description, values] of attributes) {
      const key = attributeKey(description);
      const earlier = joined.get(key);
      joined.set(key, earlier === undefined ? values : [...earlier, ...values]);
    }
    this.attributes = joined;
  }

  /** The values as they are; none when the entry has no such attribute. */
  bytes(name: string): readonly Buffer[] {
    return this.attributes.get(attributeKey(name)) ?? NOTHING;
  }

  /**
   * The values as text; none when the entry has no such attribute.
   *
   * @throws {InvalidEncodingError} when one of them is not UTF-8
   */
  text(name: string): string[] {
    return this.bytes(name).map((value) => {
      const text = decodeUtf8(value);
      if (text === null) {
        throw new InvalidEncodingError(name);
      }
      return text;
    });
  }
}

/** The text that the bytes encode, or null when they are not UTF-8. A byte order mark is a character like any other. */
export function decodeUtf8(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null;
}
