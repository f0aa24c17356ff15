import type { ChildProcess } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';

/** The file descriptor of the input, after those of the streams and of the channel of Node. */
const INPUT = 4;

/** A child process writes where its parent does. The parent gives it messages, and one input. */
export const CHILD_STDIO: ('ignore' | 'inherit' | 'ipc' | 'pipe')[] = [
  'ignore',
  'inherit',
  'inherit',
  'ipc',
  'pipe',
];

/** Gives bytes of any number to a child process, which the limits of arguments and variables do not allow. */
export function giveInput(child: ChildProcess, bytes: Buffer): void {
  const input = child.stdio[INPUT];
  if (!(input instanceof Writable)) return;
  // The process may end before it has read everything, which its supervisor notices.
  input.on('error', () => undefined);
  input.end(bytes);
}

/** Reads the bytes that the parent of this process gives it. */
export function readInput(): Buffer {
  const bytes = readFileSync(INPUT);
  closeSync(INPUT);
  return bytes;
}
