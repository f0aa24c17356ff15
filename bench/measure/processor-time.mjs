// Processor time of processes from /proc (proc(5)): user and system time of all threads, in milliseconds.
import { readdirSync, readFileSync } from 'node:fs';

/** Unit of the kernel's counters in milliseconds (USER_HZ is 100). */
const TICK = 10;
// Indexes of fields after the name, which may contain spaces.
const PARENT = 1;
const USER = 11;
const CHILDREN_USER = 13;

function fieldsOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

const sum = (fields, from) => (Number(fields[from]) + Number(fields[from + 1])) * TICK;

export function timeOf(pid) {
  return sum(fieldsOf(pid), USER);
}

/** Returns the time of a server and of its running and ended child processes. */
export function timeOfFamily(pid) {
  const own = fieldsOf(pid);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => timeOfChild(name, pid));
  return children.reduce((total, time) => total + time, sum(own, USER) + sum(own, CHILDREN_USER));
}

/** Returns 0 for a process that has another parent or has ended. */
function timeOfChild(pid, parent) {
  try {
    const fields = fieldsOf(pid);
    return Number(fields[PARENT]) === parent ? sum(fields, USER) : 0;
  } catch {
    return 0;
  }
}

/** Returns the time of all processes of the machine. */
export function timeOfMachine() {
  const [, user, nice, system, , , interrupts, softInterrupts, stolen] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    .split(/ +/)
    .map(Number);
  return (user + nice + system + interrupts + softInterrupts + stolen) * TICK;
}

/** Returns the current and the maximum resident size of a process in megabytes. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { now: megabytes('VmRSS'), max: megabytes('VmHWM') };
}
