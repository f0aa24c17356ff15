import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/**
 * Keys that an embedded installation makes for itself, once, and finds again at the next start. They are kept in
 * the database, so that every process on it has the same. Production brings its own (URL_SIGNING_KEYS, AUTH_URL).
 */
@Injectable()
export class EmbeddedKeys {
  constructor(private readonly dataSource: DataSource) {}

  /** The value kept under this name, made now if there is none. Of two processes that make one, the first wins. */
  async findOrCreate<Value extends object>(name: string, make: () => Promise<Value> | Value): Promise<Value> {
    const found = await this.find<Value>(name);
    if (found !== null) return found;
    await this.dataSource.query(
      'insert into embedded_keys (name, value) values ($1, $2) on conflict on constraint embedded_keys_pk do nothing',
      [name, JSON.stringify(await make())],
    );
    const kept = await this.find<Value>(name);
    if (kept === null) throw new Error(`The key ${name} was written and is not there`);
    return kept;
  }

  private async find<Value>(name: string): Promise<Value | null> {
    const rows: { value: Value }[] = await this.dataSource.query(
      'select value from embedded_keys where name = $1',
      [name],
    );
    return rows[0]?.value ?? null;
  }
}
