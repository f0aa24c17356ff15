import { destroyConnection, SocketClient } from './socket-client.js';
import { settlesWithin } from './settles-within.js';

/** Milliseconds that each step may take. */
const TIMEOUT_MS = 2000;

/** Identifies a backend among all servers behind an address, even if its process number was used again. */
const IDENTIFY = `
  select pid || ' ' || extract(epoch from backend_start) as backend from pg_stat_activity
  where pid = pg_backend_pid()`;

/** Rounds of both orders. A busy pooler may return the same backends a few times by chance. */
const ROUNDS = 8;

/** The error message of PgBouncer for a transaction when it shares backends between single statements. */
const STATEMENT_POOLING = /statement pooling/;

/** Error message of a start when connections do not keep their session. */
export const SHARED_SESSIONS =
  'a pooler in between gives connections another session for each transaction: let it pool sessions ' +
  '(pool_mode = session), or connect directly';

/**
 * Whether a pooler shares backends between connections. A quiet pooler may return the same backend each time,
 * so two connections alternate in orders that make it swap backends (last in first out, or round robin).
 * @throws Error when the server cannot be queried
 */
export async function sharesSessions(url: string): Promise<boolean> {
  const both = [new Probe(url), new Probe(url)] as const;
  const [first, second] = both;
  const turns = [
    [first, second],
    [second, first],
  ] as const;
  const isMixedUp = () =>
    both.some(({ backends }) => backends.size > 1) ||
    [...first.backends].some((backend) => second.backends.has(backend));
  try {
    for (const probe of both) await probe.connect();
    // Sequentially: a pool with a single backend cannot serve both at once.
    for (const probe of both) await probe.within(() => Promise.resolve());
    for (const [one, other] of Array.from({ length: ROUNDS }, () => turns).flat()) {
      if (isMixedUp()) return true;
      // In the first round both connections end their transactions in the order in which they began them.
      await one.within(() => other.within(() => Promise.resolve()));
      await other.within(() => Promise.resolve());
      await one.within(() => Promise.resolve());
    }
    return isMixedUp();
  } catch (error) {
    if (error instanceof Error && STATEMENT_POOLING.test(error.message)) return true;
    throw error;
  } finally {
    await Promise.all(both.map((probe) => probe.close()));
  }
}

class Probe {
  readonly backends = new Set<string>();
  private readonly client: SocketClient;

  constructor(url: string) {
    this.client = new SocketClient({
      connectionString: url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    // If a connection is lost, the next step fails.
    this.client.on('error', () => undefined);
  }

  async connect(): Promise<void> {
    await this.client.connect();
  }

  async within(work: () => Promise<void>): Promise<void> {
    await this.client.query('begin');
    const { rows } = await this.client.query<{ backend: string }>(IDENTIFY);
    for (const { backend } of rows) this.backends.add(backend);
    await work();
    await this.client.query('commit');
  }

  async close(): Promise<void> {
    await settlesWithin(TIMEOUT_MS, this.client.end());
    destroyConnection(this.client);
  }
}
