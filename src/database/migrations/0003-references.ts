import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tables and columns to follow a directory change by change. The mirror has no data for them, so it is emptied
 * and read again.
 */
export class References1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await emptyMirror(runner);
    for (const table of ['users', 'groups']) {
      await runner.query(`alter table ${table} add dn_key uuid not null, add source_values jsonb`);
      await runner.query(`create index ${table}_by_dn on ${table} (dn_key)`);
    }
    await runner.query('alter table groups add references_hash bytea not null');
    for (const table of ['memberships', 'nestings']) {
      await runner.query(`
        alter table ${table} drop constraint ${table}_role_known,
          add named_as smallint not null constraint ${table}_named_as_known check (named_as between 1 and 7),
          add constraint ${table}_role_is_highest check (role = ${ROLE})`);
    }
    await runner.query(`
      create table unresolved_references (
        group_key integer not null constraint unresolved_references_group_fk references groups on delete cascade,
        dn_key uuid not null,
        named_as smallint not null constraint unresolved_references_named_as_known check (named_as between 1 and 7),
        constraint unresolved_references_pk primary key (group_key, dn_key)
      )`);
    await runner.query('create index unresolved_references_by_dn on unresolved_references (dn_key)');
    await runner.query(`
      alter table quarantined_entries
        add kind text not null constraint quarantined_entries_kind_known check (kind in ('person', 'group')),
        add entry_uuid uuid, add id_folded text collate "C"`);
    await runner.query('alter table mirror_state add source_position text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table unresolved_references');
    await emptyMirror(runner);
    await runner.query('alter table mirror_state drop source_position');
    await runner.query('alter table quarantined_entries drop id_folded, drop entry_uuid, drop kind');
    for (const table of ['memberships', 'nestings']) {
      await runner.query(`
        alter table ${table} drop named_as, add constraint ${table}_role_known check (role between 1 and 3)`);
    }
    await runner.query('alter table groups drop references_hash');
    for (const table of ['users', 'groups']) {
      await runner.query(`alter table ${table} drop dn_key, drop source_values`);
    }
  }
}

/** SQL for the highest role among the attributes that name the member. */
const ROLE = 'case when named_as >= 4 then 3 when named_as >= 2 then 2 else 1 end';

async function emptyMirror(runner: QueryRunner): Promise<void> {
  await runner.query(`
    update mirror_state set state = 'NEVER_RUN', as_of = null, reason = null, blocked_plan = null,
      source_fingerprint = null, user_count = 0, group_count = 0, revision = null`);
  await runner.query(
    `truncate effective_memberships, memberships, nestings, groups, users, pictures, quarantined_entries`,
  );
}
