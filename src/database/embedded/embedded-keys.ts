import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { DirectoryDataSource } from '../connections/data-source.js';

/** Keys that an embedded installation creates once. They are in the database, for all of its processes. */
@Injectable()
export class EmbeddedKeys {
  constructor(@Inject(DataSource) private readonly dataSource: DirectoryDataSource) {}

  /** Runs work that needs the keys, now or when the database is open: see DirectoryDataSource. */
  whenOpen(work: () => unknown): Promise<void> {
    return this.dataSource.whenOpen(work);
  }

  /** Returns the value of this name, or creates it. If two processes create it at once, the first wins. */
  async findOrCreate<Value extends object>(name: string, make: () => Promise<Value> | Value): Promise<Value> {
    const find = 'select value from embedded_keys where name = $1';
    const [found] = await this.dataSource.query<{ value: Value }[]>(find, [name]);
    if (found !== undefined) return found.value;
    const text = 'insert into embedded_keys (name, value) values ($1, $2) on conflict do nothing';
    await this.dataSource.query(text, [name, JSON.stringify(await make())]);
    return this.findOrCreate(name, make);
  }

  /** Returns false if the present value is another one. */
  async replace<Value extends object>(name: string, present: Value, value: Value): Promise<boolean> {
    const text = 'update embedded_keys set value = $3 where name = $1 and value = $2::jsonb';
    const values = [name, JSON.stringify(present), JSON.stringify(value)];
    const [, count] = await this.dataSource.query<[rows: unknown[], count: number]>(text, values);
    return count === 1;
  }
}
