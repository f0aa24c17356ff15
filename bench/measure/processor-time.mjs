// Processor time of processes, from /proc (proc(5)): all threads, user and system, in milliseconds.
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second for everybody who asks. */
const TICK = 10;
// Fields after the name, which may have spaces in it.
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

/** Of a server that has a process for each connection: those that are there, and those that have ended. */
export function timeOfFamily(pid) {
  const own = fieldsOf(pid);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => timeOfChild(name, pid));
  return children.reduce((total, time) => total + time, sum(own, USER) + sum(own, CHILDREN_USER));
}

/** Nothing for a process that is somebody else's child, or has ended between two looks. */
function timeOfChild(pid, parent) {
  try {
    const fields = fieldsOf(pid);
    return Number(fields[PARENT]) === parent ? sum(fields, USER) : 0;
  } catch {
    return 0;
  }
}

/** Of everything that runs on this machine. */
export function timeOfMachine() {
  const [, user, nice, system, , , interrupts, softInterrupts, stolen] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    .split(/ +/)
    .map(Number);
  return (user + nice + system + interrupts + softInterrupts + stolen) * TICK;
}

/** Megabytes of memory that a process holds now, and that it held at most. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') };
}
