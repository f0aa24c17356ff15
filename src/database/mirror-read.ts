/** The state of the mirror from which a response was read. */
export interface MirrorRead {
  /** The id of the revision. */
  readonly revision: string;
  /**
   * The revision contains every change that the directory had before this time; null if the time is not
   * known.
   */
  readonly asOf: Date | null;
}

/** Returns the response headers for this state. */
export function headersOfRead({ revision, asOf }: MirrorRead): Record<string, string> {
  const headers: Record<string, string> = { 'directory-revision': revision };
  if (asOf !== null) headers['directory-as-of'] = asOf.toISOString();
  return headers;
}
