/**
 * An LDIF file that cannot be read. The message names the line and what is wrong, and never repeats what stands
 * there, since it goes to logs and a directory is personal data.
 */
export class LdifError extends Error {
  /** @param line physical line, counted from 1; of a folded line, the first */
  constructor(
    readonly line: number,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`LDIF line ${line}: ${reason}`, options);
    this.name = 'LdifError';
  }
}
