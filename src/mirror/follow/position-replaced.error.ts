/** The mirror has another position than the session that follows the server: it continues from there. */
export class PositionReplacedError extends Error {
  constructor() {
    super(
      'The database has another position than before, as after a restore: the directory is followed from there',
    );
    this.name = 'PositionReplacedError';
  }
}
