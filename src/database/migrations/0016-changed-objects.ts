import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Revisions say what they changed (docs/adr/0042). Null: everything, also in revisions of the previous release. */
export class ChangedObjects1763683200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table revisions add changed json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table revisions drop changed');
  }
}
