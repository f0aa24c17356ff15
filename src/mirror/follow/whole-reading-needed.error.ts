import type { ScanResult } from '../reconcile/scan.js';

/** More entries differ than can be applied together: the whole directory has to be read and planned. */
export class WholeReadingNeededError extends Error {
  /** @param found the result of the comparison, which was not applied */
  constructor(readonly found: ScanResult) {
    super('More entries differ than can be taken over together: everything has to be read');
    this.name = 'WholeReadingNeededError';
  }
}
