import { readFileSync } from 'node:fs';

/**
 * Milliseconds for which a process has been ready to go on and others had the processors: what else the machine does, and
 * nothing that it does itself. Zero where the system does not tell (Linux: proc(5), schedstat).
 */
export function processorWait(id = 'self') {
  try {
    return Number(readFileSync(`/proc/${id}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
