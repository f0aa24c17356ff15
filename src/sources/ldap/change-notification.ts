import { Control } from 'ldapts';
import type { LdapConnection } from '../../ldap/client/ldap-connection.js';
import { LdapError, LdapResultError } from '../../ldap/client/ldap-error.js';
import { ANY_ENTRY } from '../../ldap/client/requests.js';

const REFUSAL =
  'The directory server refuses to notify of changes: it is asked for the latest number every second';

/**
 * Wakes a waiting reader when the server reports a change ([MS-ADTS] 3.1.1.3.4.1.9). Its messages are not complete: they end a
 * wait early, and are never used as changes.
 */
export class ChangeNotification {
  private readonly stop = new AbortController();
  private isNotified = false;
  private wake: () => void = () => undefined;

  /**
   * @param control OID of the control that requests notifications; null: the wait always takes its whole time
   * @param refused receives a sentence if the server refuses
   */
  constructor(
    private readonly connection: LdapConnection,
    suffixes: readonly string[],
    control: string | null,
    private readonly refused: Set<string>,
  ) {
    if (control !== null) for (const suffix of suffixes) void this.listen(suffix, control);
  }

  /** @throws the signal's reason */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.isNotified) {
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timeout);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const timeout = setTimeout(end, milliseconds);
        signal.addEventListener('abort', end);
        this.wake = end;
      });
    }
    this.isNotified = false;
    signal.throwIfAborted();
  }

  close(): void {
    this.stop.abort(new Error('The notifications were closed'));
  }

  /** When the server refuses, changes are found after the interval. */
  private async listen(base: string, oid: string): Promise<void> {
    const request = { base, scope: 'sub', filter: ANY_ENTRY, attributes: ['1.1'] } as const;
    const controls = [new Control(oid, { critical: true })];
    try {
      const { signal } = this.stop;
      for await (const { kind } of this.connection.search(request, { controls, signal, idleTimeout: 0 })) {
        if (kind === 'done') return;
        this.isNotified = true;
        this.wake();
      }
    } catch (error) {
      if (error instanceof LdapResultError) this.refused.add(REFUSAL);
      else if (!(error instanceof LdapError) && !this.stop.signal.aborted) throw error;
    }
  }
}
