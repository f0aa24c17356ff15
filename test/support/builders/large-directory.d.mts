export interface DirectorySize {
  readonly people: number;
  readonly groups: number;
  /** Average of an ordinary group. */
  readonly members: number;
}

export const LARGE: DirectorySize;
export function fillLargeDirectory(
  query: (text: string) => Promise<unknown>,
  size?: DirectorySize,
): Promise<void>;
export function withoutIndexes(
  query: (text: string) => Promise<unknown>,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void>;
