/** What an answer was read from. */
export interface MirrorRead {
  /** The id of the revision. */
  readonly revision: string;
  /** Every change made in the directory before is in it; null: that is not known. */
  readonly asOf: Date | null;
}

/** How the headers of an answer tell it. */
export function headersOfRead({ revision, asOf }: MirrorRead): Record<string, string> {
  const headers: Record<string, string> = { 'directory-revision': revision };
  if (asOf !== null) headers['directory-as-of'] = asOf.toISOString();
  return headers;
}
