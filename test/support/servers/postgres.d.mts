export interface TestPostgres {
  url(database: string): string;
  readonly port: number;
  /** Again, after it was stopped or killed. */
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  hang(): void;
  goOn(): void;
  /** A replica is one no longer. */
  promote(): Promise<void>;
}
export function startPostgres(
  directory: string,
  more?: Record<string, string | number>,
  environment?: Record<string, string>,
): Promise<TestPostgres>;
export function startPostgresReplica(
  directory: string,
  primary: TestPostgres,
  more?: Record<string, string | number>,
): Promise<TestPostgres>;
export function giveToPostgres(directory: string): void;
export function findFreePort(): Promise<number>;
/** One that is had again after a while without it. */
export function findLastingPort(): Promise<number>;
