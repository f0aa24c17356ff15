export interface DirectorySize {
  readonly people: number;
  readonly groups: number;
  /** Of an ordinary group, on average. */
  readonly members: number;
}

export const LARGE: DirectorySize;
export function fillLargeDirectory(
  query: (text: string) => Promise<unknown>,
  size?: DirectorySize,
): Promise<void>;
