import { ServiceUnavailableError } from '../../common/errors.js';

/**
 * The mirror has no revision yet: nothing was read from the directory. It is not known who is in it, so that neither «nobody» nor
 * an empty list is an answer.
 */
export class NothingReadError extends ServiceUnavailableError {
  constructor() {
    super('The directory has not been read yet: try again later');
    this.name = 'NothingReadError';
  }
}
