import { LdapTimeoutError } from './ldap-error.js';

export interface Deadline {
  /** How long to wait; 0 waits for ever. */
  readonly milliseconds: number;
  /** The message of the error when that is over. */
  readonly tooLate: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles as the work does, unless time runs out or the signal is aborted before. The work itself goes on, and is
 * the caller's to end.
 *
 * @throws {LdapTimeoutError} or the signal's reason
 */
export async function within<Value>(
  { milliseconds, tooLate, signal }: Deadline,
  work: Promise<Value>,
): Promise<Value> {
  // The one that loses is not waited for, and must not go unhandled.
  work.catch(() => undefined);
  signal?.throwIfAborted();
  const { promise: interrupted, reject } = newInterruption();
  const timer =
    milliseconds === 0
      ? undefined
      : setTimeout(() => {
          reject(new LdapTimeoutError(tooLate));
        }, milliseconds);
  const stop = () => {
    reject(signal?.reason as Error);
  };
  signal?.addEventListener('abort', stop);
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

function newInterruption(): { promise: Promise<never>; reject: (reason: Error) => void } {
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}
