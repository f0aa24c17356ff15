import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * References of custom fields, by what the directory names (docs/adr/0039). The object of a reference is looked up when it is read,
 * so that it may come, go and change its key at any time.
 */
export class FieldReferences1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, objects] of TABLES) {
      await runner.query(`
        create table ${table} (
          field text collate "C" not null,
          from_key integer not null constraint ${table}_from_fk references ${objects} on delete cascade,
          target text collate "C" not null,
          from_sort_name text collate "C" not null,
          constraint ${table}_pk primary key (field, from_key, target)
        )`);
      await runner.query(
        `create index ${table}_by_target on ${table} (field, target, from_sort_name, from_key)`,
      );
      await runner.query(`create index ${table}_by_from on ${table} (from_key)`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table] of TABLES) await runner.query(`drop table ${table}`);
  }
}

const TABLES = [
  ['user_references', 'users'],
  ['group_references', 'groups'],
] as const;
