import type { ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, isServed, type LdapAccount, type LdapQuery, modify, search } from './ldap-tools.mjs';

/** A directory server in a process and a directory of its own, with the certificates of `makeCertificates`. */
export abstract class DirectoryProcess {
  abstract readonly url: string;
  /** The account that may read and change everything. */
  protected abstract readonly administrator: LdapAccount;
  private child: ChildProcess | null = null;
  private ended: Promise<unknown> = Promise.resolve();

  protected constructor(
    readonly directory: string,
    private readonly suffix: string,
  ) {}

  /** The file with the certificate of the authority that signed the server's. */
  protected get authority(): string {
    return join(this.directory, 'ca.pem');
  }

  /** That certificate (PEM). */
  get ca(): Buffer {
    return readFileSync(this.authority);
  }

  /** Applies change records as the administrator. */
  modify(ldif: string): Promise<Ended> {
    return modify(this.administrator, ldif);
  }

  /** The entries that the administrator sees, as LDIF without folded lines. */
  search(query: Partial<LdapQuery> = {}): Promise<string> {
    return search(this.administrator, { base: this.suffix, ...query });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.child?.kill(signal);
    this.child = null;
    await this.ended;
  }

  /** Stops it, and removes its directory. */
  async remove(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** @throws Error with this output if the process ends before it answers */
  protected async untilServed(child: ChildProcess, output: () => string): Promise<void> {
    this.ended = new Promise((resolve) => child.once('exit', resolve));
    this.child = child;
    while (!(await isServed(this.url))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${child.spawnargs.join(' ')} does not start:\n${output()}`);
      await sleep(50);
    }
  }
}
