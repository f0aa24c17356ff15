/** Path of a program, or null if it is not installed. */
export function findProgram(name: string): string | null;
/** Path of a program. Throws an error if it is not installed. */
export function requireProgram(name: string): string;
/** Directory of PostgreSQL's programs, newest version first, or null. */
/** Path of the library that gives a process another clock, or null if it is not installed. */
export function findFaketime(): string | null;
