import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The lease of the leader (docs/adr/0033). A renewal leaves the primary key as it is, so it proceeds while a
 * transaction holds the row FOR KEY SHARE; a takeover waits.
 */
export class LeaderLease1763683200007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table leader_lease (
        token bigint not null,
        only_row boolean not null default true,
        holder uuid,
        session_pid integer,
        session_started timestamptz,
        renewals bigint not null default 0,
        renewed_at timestamptz,
        waiting_since timestamptz,
        constraint leader_lease_pk primary key (token),
        constraint leader_lease_one_row unique (only_row),
        constraint leader_lease_only_row check (only_row)
      )`);
    await runner.query('insert into leader_lease (token) values (0)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table leader_lease');
  }
}
