import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Digests of the records that the mirror was written from: see RecordDigests. Earlier releases do not read them. A digest is of no
 * use after its entry has changed, and never wrong, so the table needs no foreign key.
 */
export class RecordDigests1763683200019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table record_digests (
        entry_uuid uuid not null constraint record_digests_pk primary key,
        digest uuid not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table record_digests');
  }
}
