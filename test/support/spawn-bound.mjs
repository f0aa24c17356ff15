// Processes that end when their parent ends.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Part of util-linux, which every Debian has. */
const SETPRIV = '/usr/bin/setpriv';
const canBind = existsSync(SETPRIV);

/**
 * spawn() of a process that the kernel kills when this one ends, also after SIGKILL (prctl(2), PR_SET_PDEATHSIG). Its process id
 * is the same as without: setpriv(1) replaces itself by the program. A program that changes its user id afterwards loses the
 * binding: pass the user by `uid` and `gid`.
 */
export function spawnBound(program, args, options) {
  if (!canBind) return spawn(program, args, options);
  return spawn(SETPRIV, ['--pdeathsig', 'KILL', '--', program, ...args], options);
}
