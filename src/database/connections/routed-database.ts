import type { DirectoryDataSource } from './data-source.js';
import type { CurrentRevision } from '../revisions/revision.js';
import { Database } from '../database.js';
import type { Replicas } from './replicas.js';
import type { Statement } from '../statements/statement.js';

/**
 * A Database with read replicas. Statements that return their revision run on a replica that has the current
 * revision; all others run on the primary (docs/adr/0021).
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
