/** Where a program is; null when it is not installed. */
export function findProgram(name: string): string | null;
/** Directory of PostgreSQL's programs, newest first; null when there is none. */
export function findPostgres(): string | null;
/** The library that gives a process a clock of its own; null when it is not installed. */
export function findFaketime(): string | null;
