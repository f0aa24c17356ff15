import { ServiceUnavailableError } from '../../common/errors.js';

/**
 * The mirror has no revision yet, because nothing was read from the directory. Null or an empty list would be
 * a wrong answer, because the content of the directory is not known.
 */
export class NothingReadError extends ServiceUnavailableError {
  constructor() {
    super('The directory has not been read yet: try again later');
    this.name = 'NothingReadError';
  }
}
