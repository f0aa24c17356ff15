// Processes that end when the process that started them ends.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

/** From util-linux, which every Debian has. */
const SETPRIV = '/usr/bin/setpriv';
const canBind = existsSync(SETPRIV);

/**
 * spawn() of a process that the kernel kills when this one ends, also by SIGKILL (prctl(2), PR_SET_PDEATHSIG). It has the
 * same process ID as without: setpriv(1) executes the program in its own place. A program that changes its user ID
 * afterwards loses the binding: give it the user by `uid` and `gid`.
 */
export function spawnBound(program, args, options) {
  if (!canBind) return spawn(program, args, options);
  return spawn(SETPRIV, ['--pdeathsig', 'KILL', '--', program, ...args], options);
}
