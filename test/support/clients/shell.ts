import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** Milliseconds, more than any command of a page takes. */
const TIMEOUT_MS = 600_000;

/** A bash that receives commands one after the other, like the shell of a reader; variables persist. */
export class Shell {
  private readonly child: ChildProcessWithoutNullStreams;
  private stdout = '';
  private stderr = '';
  private hasEnded = false;
  private notice: () => void = () => undefined;

  /** @param environment the whole environment */
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
   * Runs commands, and returns their standard output.
   * @throws Error with the whole output if a command fails
   */
  async run(commands: string): Promise<string> {
    const mark = randomUUID();
    this.stdout = '';
    this.stderr = '';
    // Commands that read standard input must not consume the next ones.
    this.child.stdin.write(`set -e\n{\n${commands}\n} < /dev/null\nset +e\necho ${mark}\n`);
    const timeout = setTimeout(() => this.end(), TIMEOUT_MS);
    while (!this.stdout.includes(`${mark}\n`) && !this.hasEnded) {
      await new Promise<void>((resolve) => (this.notice = resolve));
    }
    clearTimeout(timeout);
    if (this.hasEnded) throw new Error(`It failed:\n${commands}\n\n${this.stdout}${this.stderr}`);
    return this.stdout.replace(`${mark}\n`, '');
  }

  /** What the last commands wrote to standard error, which is not complete if processes of theirs still run. */
  get errors(): string {
    return this.stderr;
  }

  /** Ends the shell and all processes that it has started. */
  end(): void {
    if (this.child.pid !== undefined && !this.hasEnded) process.kill(-this.child.pid, 'SIGKILL');
  }
}
