export interface TestPostgres {
  url(database: string): string;
  readonly port: number;
  /** Starts the server again, after it was stopped or killed. */
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  hang(): void;
  resume(): void;
  /** Promotes a replica. */
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
/** The user that PostgreSQL runs as, for spawn(); empty if this process is not root. */
export function findPostgresUser(): { uid?: number; gid?: number };
export function giveToPostgres(directory: string): void;
export function findFreePort(): Promise<number>;
