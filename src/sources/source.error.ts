/** The source gives nothing that could be mirrored. The message goes to everybody: it says nothing of contents. */
export class SourceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
  }
}
