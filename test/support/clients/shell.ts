import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Milliseconds: nothing that a page has its reader run takes longer. */
const TIMEOUT_MS = 600_000;

/** A bash that is given commands one after the other, as a reader of a page does; variables stay. */
export class Shell {
  private readonly child: ChildProcessWithoutNullStreams;
  private stdout = '';
  private stderr = '';
  private hasEnded = false;
  private notice: () => void = () => undefined;

  /** @param environment all that it knows */
  constructor(directory: string, environment: Record<string, string | undefined>) {
    const options = { cwd: directory, env: environment, detached: true };
    this.child = spawn('bash', ['--noprofile', '--norc', '-s'], options);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.notice();
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.child.once('close', () => {
      this.hasEnded = true;
      this.notice();
    });
  }

  /**
   * Runs commands, and gives what they print on standard output.
   * @throws Error with everything they printed, when one of them fails
   */
  async run(commands: string): Promise<string> {
    const mark = randomUUID();
    this.stdout = '';
    this.stderr = '';
    // A command that reads standard input is not to eat the next ones.
    this.child.stdin.write(`set -e\n{\n${commands}\n} < /dev/null\nset +e\necho ${mark}\n`);
    const timeout = setTimeout(() => {
      this.end();
    }, TIMEOUT_MS);
    while (!this.stdout.includes(`${mark}\n`) && !this.hasEnded) {
      await new Promise<void>((resolve) => (this.notice = resolve));
    }
    clearTimeout(timeout);
    if (this.hasEnded) throw new Error(`It failed:\n${commands}\n\n${this.stdout}${this.stderr}`);
    return this.stdout.replace(`${mark}\n`, '');
  }

  /** Ends it, with everything that it has started. */
  end(): void {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(-this.child.pid, 'SIGKILL');
  }
}
