/** Number of slots, a power of two. They take 256 KiB and suit some ten thousand requests. */
const PLACES = 65_536;

/**
 * Distinguishes repeated requests from those that are sent once. Most of the latter never repeat, and caching
 * their responses would cost more than it saves and evict useful ones. The filter forgets old entries and has
 * occasional false positives, so a response may be cached one request too late or too early.
 */
export class CacheAdmissionFilter {
  private readonly seen = new Uint32Array(PLACES);

  /** Whether the same text was seen before. Records it otherwise. */
  admits(question: string): boolean {
    const hash = hashOf(question);
    const place = hash % PLACES;
    if (this.seen[place] === hash) return true;
    this.seen[place] = hash;
    return false;
  }
}

/** FNV-1a (Fowler, Noll, Vo), over UTF-16 code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  // The lowest bits select the slot, so the highest bits are mixed into them.
  return (hash ^ (hash >>> 15)) >>> 0;
}
