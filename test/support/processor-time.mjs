import { readFileSync } from 'node:fs';

/**
 * Reads the scheduler's statistics of the main thread of a process (Linux: proc(5), schedstat): nanoseconds on a processor, and
 * nanoseconds in which it was runnable but waited. Zeros if there is no such file.
 */
function readSchedule(id) {
  try {
    return readFileSync(`/proc/${id}/schedstat`, 'utf8').split(' ').map(Number);
  } catch {
    return [0, 0];
  }
}

/** Milliseconds for which the main thread of a process has run on a processor. */
export function processorTime(id = 'self') {
  return readSchedule(id)[0] / 1e6;
}
