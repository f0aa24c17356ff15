import { nameOfScopes, type Principal } from '../../auth/principal.js';

/**
 * Identifies a request in the response cache by scopes, subject, media type and text. Each key text is built
 * once.
 */
export class ResponseCacheKey {
  private shared: string | null = null;
  private own: string | null = null;

  /**
   * @param contentType the media type of the answer
   * @param text the body as it was sent, or for a GET the request target
   */
  constructor(
    readonly principal: Principal | null,
    private readonly contentType: string,
    private readonly text: string,
  ) {}

  /** The same for all principals with the same scopes. */
  get sharedKey(): string {
    this.shared ??= this.keyOf('');
    return this.shared;
  }

  /** The same for one subject with the same scopes. */
  get ownKey(): string {
    this.own ??= this.keyOf(this.principal === null ? '' : partsOf(this.principal).subject);
    return this.own;
  }

  private keyOf(subject: string): string {
    const scopes = this.principal === null ? '-' : partsOf(this.principal).scopes;
    return `${scopes}\n${subject}\n${this.contentType}\n${this.text}`;
  }
}

/** The key parts of each principal, cached because a principal sends many requests. */
const principals = new WeakMap<Principal, { scopes: string; subject: string }>();

function partsOf(principal: Principal): { scopes: string; subject: string } {
  let caller = principals.get(principal);
  if (caller === undefined) {
    // Quoted, because the issuer chooses the subject: it cannot be mistaken for another part.
    caller = { scopes: nameOfScopes(principal), subject: `of ${JSON.stringify(principal.subject)}` };
    principals.set(principal, caller);
  }
  return caller;
}
