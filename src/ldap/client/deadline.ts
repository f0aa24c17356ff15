import { LdapTimeoutError } from './ldap-error.js';

export interface Deadline {
  /** The longest wait in milliseconds; 0 means no limit. */
  readonly milliseconds: number;
  /** The message of the error when the time is over. */
  readonly tooLate: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles with the result of the work, unless the time runs out or the signal is aborted first. The work
 * itself is not canceled; the caller has to stop it.
 *
 * @throws {LdapTimeoutError} or the signal's reason
 */
export async function within<Value>(
  { milliseconds, tooLate, signal }: Deadline,
  work: Promise<Value>,
): Promise<Value> {
  // If the work loses the race, a later rejection of it must not be reported as unhandled.
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
