import type { DirectoryDataSource } from './data-source.js';
import { Database } from './database.js';
import type { Replicas } from './replicas.js';
import { revisionOf } from './revision-reader.js';
import type { Statement } from './statement.js';

/**
 * As Database, with read replicas beside the server: what tells the revision that it is of is read from them, where they have
 * it, and everything else from the primary (docs/adr/0021).
 */
export class RoutedDatabase extends Database {
  constructor(
    dataSource: DirectoryDataSource,
    private readonly replicas: Replicas,
  ) {
    super(dataSource);
  }

  override async read<Row extends unknown[]>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (!statement.tellsRevision) return super.read(statement, values);
    const rows =
      (await this.replicas.read<Row>(statement, values)) ?? (await super.read<Row>(statement, values));
    const revision = revisionOf(statement, rows);
    if (revision !== null) this.replicas.need(revision);
    return rows;
  }

  override noteRevision(revision: number): void {
    this.replicas.need(revision);
  }
}
