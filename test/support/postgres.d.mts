export interface TestPostgres {
  url(database: string): string;
  readonly port: number;
  stop(): Promise<void>;
}
export function startPostgres(
  directory: string,
  more?: Record<string, string | number>,
): Promise<TestPostgres>;
export function findFreePort(): Promise<number>;
