import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A materialized view that pg_restore fills last, after all tables and constraints, also with several jobs.
 * Until then PostgreSQL rejects every statement that reads it: see IS_COMPLETE.
 *
 * `leader_lease.waiting_since` stays for processes of the previous release. The leader now reports by an
 * advisory lock that it waits, because its lease may be locked.
 */
export class Restores1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create materialized view database_complete as select true as is_complete');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop materialized view database_complete');
  }
}
