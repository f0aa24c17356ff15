import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A page of users keeps a fifth of its space free, so that a new version of a row fits on the page of the old one. PostgreSQL then
 * writes a counter without the fourteen indexes. Existing pages get free space as their rows change.
 */
export class FreeSpace1763683200018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users set (fillfactor = 80)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users reset (fillfactor)');
  }
}
