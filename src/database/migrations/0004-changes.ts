import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The log of changes (docs/clients.md). It has no foreign keys: its rows outlive users and groups. */
export class Changes1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table changes (
        id bigint generated always as identity constraint changes_pk primary key,
        revision integer not null,
        at timestamptz(3) not null,
        kind smallint not null constraint changes_kind_known check (kind between 1 and 9),
        user_key integer,
        user_id text,
        group_key integer,
        group_id text,
        role_before smallint constraint changes_role_before_known check (role_before between 1 and 3),
        role_after smallint constraint changes_role_after_known check (role_after between 1 and 3),
        id_before text constraint changes_id_before_of_update check (kind in (2, 5) or id_before is null),
        id_folded text collate "C",
        constraint changes_of_person
          check ((kind not in (4, 5, 6)) = (user_key is not null) and (user_key is null) = (user_id is null)),
        constraint changes_of_group
          check ((kind not in (1, 2, 3)) = (group_key is not null) and (group_key is null) = (group_id is null)),
        constraint changes_of_role
          check ((kind in (8, 9)) = (role_before is not null) and (kind in (7, 9)) = (role_after is not null)),
        constraint changes_of_deleted check ((kind in (3, 6)) = (id_folded is not null))
      )`);
    for (const statement of INDEXES) await runner.query(statement);
    await runner.query(`
      alter table mirror_state
        add change_count integer not null default 0, add changes_pruned_to bigint not null default 0`);
    // Ids start above those of every earlier database, unless it had more than a million changes per second.
    // A cursor of an earlier log is therefore never valid in this one.
    await runner.query(`
      update mirror_state set changes_pruned_to =
        setval(pg_get_serial_sequence('changes', 'id'), (extract(epoch from clock_timestamp()) * 1000000)::bigint)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table mirror_state drop changes_pruned_to, drop change_count');
    await runner.query('drop table changes');
  }
}

const INDEXES = [
  'create index changes_by_time on changes (at, id)',
  'create index changes_by_kind on changes (kind, id)',
  'create index changes_by_user on changes (user_key, id) where user_key is not null',
  'create index changes_by_group on changes (group_key, id) where group_key is not null',
  'create index changes_by_deleted_id on changes (kind, id_folded, id) where id_folded is not null',
];
