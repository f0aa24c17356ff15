import { nameOfScopes, type Principal } from '../../auth/principal.js';

/** Who asks what, in which form. It is looked up more than once: what stands for it is made once. */
export class Question {
  private shared: string | null = null;
  private own: string | null = null;

  /**
   * @param contentType the media type of the answer
   * @param text the body, or of a GET the request target, as it came
   */
  constructor(
    readonly principal: Principal | null,
    private readonly contentType: string,
    private readonly text: string,
  ) {}

  /** The same for all who ask this with the same scopes. */
  get sharedKey(): string {
    this.shared ??= this.keyOf('');
    return this.shared;
  }

  /** The same whenever the same one asks this. */
  get ownKey(): string {
    this.own ??= this.keyOf(this.principal === null ? '' : callerOf(this.principal).subject);
    return this.own;
  }

  private keyOf(subject: string): string {
    const scopes = this.principal === null ? '-' : callerOf(this.principal).scopes;
    return `${scopes}\n${subject}\n${this.contentType}\n${this.text}`;
  }
}

/** The parts of keys that stand for who asks: a principal asks many times. */
const callers = new WeakMap<Principal, { scopes: string; subject: string }>();

function callerOf(principal: Principal): { scopes: string; subject: string } {
  let caller = callers.get(principal);
  if (caller === undefined) {
    // A subject is the issuer's to spell: quoted, it cannot be taken for anything else.
    caller = { scopes: nameOfScopes(principal), subject: `of ${JSON.stringify(principal.subject)}` };
    callers.set(principal, caller);
  }
  return caller;
}
