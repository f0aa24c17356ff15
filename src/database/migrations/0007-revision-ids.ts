import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Random ids of revisions (docs/adr/0032), UUIDs in the log of changes, and the clock of the log.
 * A default and a trigger supply the ids for processes of the previous release.
 */
export class RevisionIds1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table revisions
        add uuid uuid not null default gen_random_uuid() constraint revisions_uuid_unique unique`);
    await runner.query(`
      alter table mirror_state
        add revision_uuid uuid,
        add changes_clock timestamptz(3) not null default now(),
        add changes_clock_doubted_since timestamptz(3)`);
    await runner.query(`
      update mirror_state set revision_uuid = (select r.uuid from revisions r where r.id = mirror_state.revision)`);
    // The search path is fixed because a restore of data alone runs without one.
    await runner.query(`
      create function note_revision_uuid() returns trigger language plpgsql set search_path from current as $$
      begin
        new.revision_uuid := (select r.uuid from revisions r where r.id = new.revision);
        return new;
      end $$`);
    await runner.query(`
      create trigger mirror_state_revision_uuid before insert or update of revision on mirror_state
        for each row execute function note_revision_uuid()`);
    await runner.query('alter table changes add user_uuid uuid, add group_uuid uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table changes drop group_uuid, drop user_uuid');
    await runner.query('drop trigger mirror_state_revision_uuid on mirror_state');
    await runner.query('drop function note_revision_uuid()');
    await runner.query(`
      alter table mirror_state drop changes_clock_doubted_since, drop changes_clock, drop revision_uuid`);
    await runner.query('alter table revisions drop uuid');
  }
}
