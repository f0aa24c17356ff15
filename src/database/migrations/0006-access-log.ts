import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The access log (SECURITY.md), and the contact and purpose of service accounts. */
export class AccessLog1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table access_log (
        day date not null,
        principal text not null,
        acting_for text not null,
        field text not null,
        requests bigint not null,
        people bigint not null,
        constraint access_log_pk primary key (day, principal, acting_for, field),
        constraint access_log_counted check (requests > 0 and people > 0)
      )`);
    // Existing accounts have neither and remain valid.
    await runner.query('alter table service_accounts add contact text, add purpose text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table service_accounts drop purpose, drop contact');
    await runner.query('drop table access_log');
  }
}
