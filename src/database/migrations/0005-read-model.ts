import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Memberships carry the columns that pages show (docs/adr/0007), and are stored in the order of pages. */
export class ReadModel1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create temporary table carried on commit drop as
      select m.group_key, m.user_key, m.role, m.direct_role, m.inherited_from, m.user_sort_name, m.group_sort_name,
        u.id as user_id, u.name as user_name, u.school_year as user_school_year, u.photo is not null as user_has_photo,
        u.picture is not null as user_has_picture, g.id as group_id, g.name as group_name
      from effective_memberships m join users u on u.key = m.user_key join groups g on g.key = m.group_key`);
    for (const name of Object.keys(INDEXES)) await runner.query(`drop index ${name}`);
    await runner.query('truncate effective_memberships');
    await runner.query(`
      alter table effective_memberships
        add user_id text not null, add user_name text not null, add user_school_year text collate "C",
        add user_has_photo boolean not null, add user_has_picture boolean not null,
        add group_id text not null, add group_name text not null`);
    await runner.query(`
      insert into effective_memberships (group_key, user_key, role, direct_role, inherited_from, user_sort_name,
        group_sort_name, user_id, user_name, user_school_year, user_has_photo, user_has_picture, group_id, group_name)
      select * from carried order by group_key, user_sort_name, user_key`);
    for (const [name, definition] of Object.entries(INDEXES)) {
      await runner.query(`create index ${name} on effective_memberships ${definition}`);
    }
    await runner.query('analyze effective_memberships');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index effective_memberships_by_group_name');
    await runner.query(`
      alter table effective_memberships
        drop user_id, drop user_name, drop user_school_year, drop user_has_photo, drop user_has_picture,
        drop group_id, drop group_name`);
    await runner.query(`
      create index effective_memberships_by_group_name on effective_memberships
        (user_key, group_sort_name, group_key) include (role)`);
  }
}

/** Only the last index changes: it contains all columns that pages of a user's groups usually show. */
const INDEXES = {
  effective_memberships_by_user_name: '(group_key, user_sort_name, user_key) include (role)',
  effective_memberships_by_role: '(group_key, (-role), user_sort_name, user_key)',
  effective_memberships_by_group_name:
    '(user_key, group_sort_name, group_key) include (role, group_id, group_name)',
};
