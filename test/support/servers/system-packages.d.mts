/** Path of a program, or null if it is not installed. */
export function findProgram(name: string): string | null;
/** Path of a program. Throws an error if it is not installed. */
export function requireProgram(name: string): string;
/** Path of the library that gives a process another clock, or null if it is not installed. */
export function findFaketime(): string | null;
/** Path of the Node.js of the image. */
export const NEWER_NODE: string;
