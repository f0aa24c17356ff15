/** Where a program is; null when it is not installed. */
export function findProgram(name: string): string | null;
/** Directory of PostgreSQL's programs, newest first; null when there is none. */
export function findPostgres(): string | null;
