import { LdapTimeoutError } from './ldap-error.js';

interface Deadline {
  /** The longest wait in milliseconds; 0 means no limit. */
  readonly milliseconds: number;
  readonly tooLate: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles with the result of the work, unless the time runs out or the signal is aborted first. The work
 * itself is not canceled; the caller has to stop it.
 *
 * @throws {LdapTimeoutError} or the signal's reason
 */
export function within<Value>(
  { milliseconds, tooLate, signal }: Deadline,
  work: Promise<Value>,
): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    const stop = () => {
      end();
      reject(signal?.reason as Error);
    };
    const late = () => {
      end();
      reject(new LdapTimeoutError(tooLate));
    };
    const timer = milliseconds === 0 ? undefined : setTimeout(late, milliseconds);
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    };
    signal?.addEventListener('abort', stop);
    work.finally(end).then(resolve, reject);
    if (signal?.aborted === true) stop();
  });
}
