import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Values of the fields that have no column of their own, by name. Null if the entry has none of them. */
export class FieldValues1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users add field_values jsonb');
    await runner.query('alter table groups add field_values jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table groups drop field_values');
    await runner.query('alter table users drop field_values');
  }
}
