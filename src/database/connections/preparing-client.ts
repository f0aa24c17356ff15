import { createHash } from 'node:crypto';
import type { ClientConfig, QueryConfig, QueryResult } from 'pg';
import { LRUCache } from 'lru-cache';
import { SocketClient } from './socket-client.js';

/** Prepared statements of a connection beside those of StatementPool. Each takes about 100 kB of the server's memory. */
const MAX_PREPARED = 60;
/** Texts of a connection that are remembered after their first use. */
const MAX_USED = 200;
/** SQLSTATE feature_not_supported: a migration has changed the columns of the result of a prepared statement. */
const CHANGED_RESULT = '0A000';

type Send = (query: string | QueryConfig, values?: unknown[]) => Promise<QueryResult>;

interface Prepared {
  readonly name: string;
  /** Whether the server has confirmed it. Until then its name must not be sent again. */
  isConfirmed: boolean;
}

/**
 * A client that prepares a text with values at its second use. PostgreSQL otherwise parses and plans each statement of a revision
 * again, which takes longer than to execute it.
 */
export class PreparingClient extends SocketClient {
  private readonly used = new LRUCache<string, true>({ max: MAX_USED });
  private readonly prepared = new Map<string, Prepared>();
  /** False after a migration, because the driver cannot close single statements. */
  private prepares = true;

  constructor(config?: string | ClientConfig) {
    super(config);
    const send = this.query.bind(this) as Send;
    const query = (...given: Parameters<Send>) => {
      const [text, values = []] = given;
      // A third argument would be a callback.
      if (typeof text !== 'string' || values.length === 0 || given.length > 2) return send(...given);
      const statement = this.choose(text);
      return statement === null ? send(text, values) : this.sendPrepared(send, statement, { text, values });
    };
    // TypeORM sends texts. A query without a name is sent as before.
    this.query = query as typeof this.query;
  }

  private async sendPrepared(
    send: Send,
    statement: Prepared,
    query: Pick<QueryConfig, 'text' | 'values'>,
  ): Promise<QueryResult> {
    const { name, isConfirmed } = statement;
    try {
      const result = await send({ ...query, name });
      statement.isConfirmed = true;
      return result;
    } catch (error) {
      if ((error as { code?: string }).code === CHANGED_RESULT) this.prepares = false;
      // The server may not have it.
      if (!isConfirmed) this.prepared.delete(query.text);
      throw error;
    }
  }

  /** Null: the text is sent without a name. */
  private choose(text: string): Prepared | null {
    if (!this.prepares) return null;
    const known = this.prepared.get(text);
    if (known !== undefined) return known.isConfirmed ? known : null;
    if (!this.used.has(text)) {
      this.used.set(text, true);
      return null;
    }
    if (this.prepared.size >= MAX_PREPARED) return null;
    const name = `p_${createHash('sha256').update(text).digest('base64url').slice(0, 20)}`;
    const statement = { name, isConfirmed: false };
    this.prepared.set(text, statement);
    return statement;
  }
}
