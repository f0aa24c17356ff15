/**
 * An LDIF file cannot be read. The message gives the line number and the reason, and never the content of the
 * line, because the message is logged and the directory contains personal data.
 */
export class LdifError extends Error {
  /** @param line number of the physical line, counted from 1; the first one of a folded line */
  constructor(
    readonly line: number,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`LDIF line ${line}: ${reason}`, options);
    this.name = 'LdifError';
  }
}
