import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tables to compare the mirror with the whole directory (docs/adr/0016). Earlier releases do not read them.
 */
export class Reconciliation1763683200008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table revisions add attributes_lost jsonb not null default '{}'`);
    // No foreign key: the next comparison removes orphaned stamps, and deletions are not slowed down.
    await runner.query(`
      create table entry_stamps (
        entry_uuid uuid not null constraint entry_stamps_pk primary key,
        stamp text not null
      )`);
    await runner.query(`
      create table reconciliations (
        kind text not null constraint reconciliations_pk primary key
          constraint reconciliations_kind_known check (kind in ('identities', 'contents')),
        finished_at timestamptz(3) not null,
        entries integer not null,
        healed integer not null,
        seconds double precision not null,
        runs integer not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table reconciliations, entry_stamps');
    await runner.query('alter table revisions drop attributes_lost');
  }
}
