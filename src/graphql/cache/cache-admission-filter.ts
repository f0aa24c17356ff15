/** Places: a power of two. A quarter of a megabyte, for some ten thousand questions. */
const PLACES = 65_536;

/**
 * Tells questions that come again from those that come once, most of which never come again: to remember an answer to
 * each would cost more than it saves, and push out those that are asked for. It forgets, and now and then takes one
 * question for another; then something is remembered one time too late, or too early.
 */
export class Doorkeeper {
  private readonly seen = new Uint32Array(PLACES);

  /** Whether the same was asked about before. */
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
  // The last bits choose the place: they are mixed with the first.
  return (hash ^ (hash >>> 15)) >>> 0;
}
