import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Audiences of users, groups, members and changes, and the groups to which service accounts are limited (docs/adr/0038).
 * The defaults say that everyone sees everything, as processes of the previous release assume.
 */
export class Visibility1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table users add ${level('users', 'visible_to')}`);
    await runner.query(
      `alter table groups add ${level('groups', 'visible_to')}, add ${level('groups', 'members_visible_to')}`,
    );
    await runner.query(`
      alter table effective_memberships
        add user_visible_to smallint not null default 0,
        add group_visible_to smallint not null default 0,
        add group_members_visible_to smallint not null default 0`);
    await runner.query(`
      alter table changes
        add user_visible_to smallint not null default 0,
        add group_visible_to smallint not null default 0,
        add members_visible_to smallint not null default 0,
        add outside_of smallint not null default 0,
        add audience integer[],
        add admin_audience integer[]`);
    await runner.query(`
      alter table mirror_state
        add hides boolean not null default false,
        add hides_in_log boolean not null default false,
        add open_revision_uuid uuid generated always as (case when hides then null else revision_uuid end) stored,
        add open_log_revision_uuid uuid
          generated always as (case when hides or hides_in_log then null else revision_uuid end) stored`);
    // The scopes of a limited account are in a column of its own. Processes of the previous release, which do not
    // know the limit, find no scopes.
    await runner.query('alter table service_accounts add limited_to uuid[], add limited_scopes text[]');
    for (const [name, definition] of Object.entries(INDEXES)) {
      await runner.query(`create index ${name} on ${definition}`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const name of Object.keys(INDEXES)) await runner.query(`drop index ${name}`);
    await runner.query('alter table service_accounts drop limited_scopes, drop limited_to');
    await runner.query(
      'alter table mirror_state drop open_log_revision_uuid, drop open_revision_uuid, drop hides_in_log, drop hides',
    );
    await runner.query(`
      alter table changes drop admin_audience, drop audience, drop outside_of, drop members_visible_to,
        drop group_visible_to, drop user_visible_to`);
    await runner.query(`
      alter table effective_memberships drop group_members_visible_to, drop group_visible_to, drop user_visible_to`);
    await runner.query('alter table groups drop members_visible_to, drop visible_to');
    await runner.query('alter table users drop visible_to');
  }
}

function level(table: string, column: string): string {
  return `${column} smallint not null default 0 constraint ${table}_${column}_known check (${column} between 0 and 2)`;
}

/** Of hidden rows only, so that they cost nothing where no rule matches. */
const INDEXES = {
  users_hidden: 'users (key) where visible_to > 0',
  groups_hidden: 'groups (key) where visible_to > 0 or members_visible_to > 0',
  effective_memberships_of_hidden_users:
    'effective_memberships (group_key, user_key) where user_visible_to > 0',
  effective_memberships_of_hidden_groups: `effective_memberships (user_key, group_key)
    where group_visible_to > 0 or group_members_visible_to > 0`,
  changes_hidden: `changes (id)
    where user_visible_to > 0 or group_visible_to > 0 or members_visible_to > 0 or outside_of > 0`,
};
