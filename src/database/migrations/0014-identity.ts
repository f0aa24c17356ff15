import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lookups by e-mail address, changes of deleted objects by their node ids, and people who are not active. */
export class Identity1763683200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The default serves processes of the previous release, which write no value.
    await runner.query('alter table users add is_active boolean not null default true');
    for (const statement of INDEXES) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index changes_by_deleted_group_uuid');
    await runner.query('drop index changes_by_deleted_user_uuid');
    await runner.query('drop index users_by_address');
    await runner.query('drop index users_by_activity');
    await runner.query('alter table users drop is_active');
  }
}

const INDEXES = [
  'create index users_by_address on users (lower(email collate "C"))',
  // A list or total of either value is a range of this index, in the order of names.
  'create index users_by_activity on users (is_active, sort_name, key)',
  'create index changes_by_deleted_user_uuid on changes (user_uuid, id) where kind = 3',
  'create index changes_by_deleted_group_uuid on changes (group_uuid, id) where kind = 6',
];
