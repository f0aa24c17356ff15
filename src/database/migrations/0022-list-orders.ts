import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Orders of users by family name and by creation, and groups by their e-mail addresses. */
export class ListOrders1763683200021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The next reading of the directory writes the values.
    await runner.query(`alter table users add family_sort_name text collate "C" not null default ''`);
    for (const statement of INDEXES) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index groups_by_address');
    await runner.query('drop index users_by_creation');
    await runner.query('alter table users drop family_sort_name');
  }
}

const INDEXES = [
  'create index users_by_family_name on users (family_sort_name, sort_name, key)',
  'create index users_by_creation on users (created_at, key)',
  'create index groups_by_address on groups (lower(email collate "C"))',
];
