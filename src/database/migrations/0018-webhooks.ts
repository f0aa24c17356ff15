import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far the receivers of changes are (docs/adr/0046). */
export class Webhooks1763683200017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table webhooks (
        id text not null constraint webhooks_pk primary key,
        cursor text not null,
        attempts integer not null default 0,
        failing_since timestamptz(3),
        next_attempt_at timestamptz(3),
        disabled_at timestamptz(3),
        failure text
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table webhooks');
  }
}
