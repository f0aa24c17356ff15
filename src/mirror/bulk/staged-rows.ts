import type { WrittenColumn } from '../../database/fields/field-columns.js';
import type { Writer } from '../../database/statements/statement.js';

/** A temporary table of a bulk run. Its rows are collected and written together. */
export class StagedRows<Row> {
  private waiting: Row[] = [];

  constructor(
    readonly table: string,
    private readonly columns: readonly WrittenColumn<Row>[],
  ) {}

  async create(writer: Writer): Promise<void> {
    const columns = this.columns.map(({ name, type }) => `${name} ${type}`);
    await writer.query(
      `create temporary table ${this.table} (${columns.join(', ')}, place bigint generated always as identity)`,
    );
  }

  add(row: Row): void {
    this.waiting.push(row);
  }

  /** Writes the collected rows with one array for each column. */
  async flush(writer: Writer): Promise<void> {
    const rows = this.waiting;
    if (rows.length === 0) return;
    this.waiting = [];
    const names = this.columns.map(({ name }) => name).join(', ');
    const arrays = this.columns.map(({ type }, index) => `$${index + 1}::${type}[]`);
    await writer.query(
      `insert into ${this.table} (${names}) select * from unnest(${arrays.join(', ')})`,
      this.columns.map(({ valueOf }) => rows.map(valueOf)),
    );
  }
}

/** Columns that hold the members of the same names in the rows. */
export function columnsNamed<Row>(types: Readonly<Record<keyof Row & string, string>>): WrittenColumn<Row>[] {
  return (Object.entries(types) as [keyof Row & string, string][]).map(([name, type]) => ({
    name,
    type,
    valueOf: (row) => row[name],
  }));
}
