import type { DirectoryDataSource } from './data-source.js';
import type { CurrentRevision } from '../revisions/current-revision.js';
import { Database } from '../database.js';
import type { Replicas } from './replicas.js';
import type { Statement } from '../statements/statement.js';

/**
 * As Database, with read replicas beside the server: what tells the revision that it is of is read from them, where they have
 * it, and everything else from the primary (docs/adr/0021).
 */
export class RoutedDatabase extends Database {
  constructor(
    dataSource: DirectoryDataSource,
    revision: CurrentRevision,
    private readonly replicas: Replicas,
  ) {
    super(dataSource, revision);
  }

  override async read<Row extends unknown[]>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (!statement.tellsRevision) return super.read(statement, values);
    return (await this.replicas.read<Row>(statement, values)) ?? (await super.read<Row>(statement, values));
  }
}
