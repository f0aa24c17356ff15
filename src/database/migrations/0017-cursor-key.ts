import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The key that encrypts the numbers of rows in cursors, and the last change whose number clients may know, because nothing was
 * hidden before it; null while there are no rules (docs/adr/0038). gen_random_uuid has 122 random bits.
 *
 * And when viewers last could see that a group changed; null: at `updated_at`.
 */
export class CursorKey1763683200016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table mirror_state
        add cursor_key bytea not null constraint mirror_state_cursor_key_length check (octet_length(cursor_key) = 16)
          default substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) for 16),
        add changes_open_to bigint`);
    await runner.query('alter table groups add shown_updated_at timestamptz(3)');
    await runner.query(
      'create index groups_by_shown_update on groups (coalesce(shown_updated_at, updated_at), key)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index groups_by_shown_update');
    await runner.query('alter table groups drop shown_updated_at');
    await runner.query('alter table mirror_state drop changes_open_to, drop cursor_key');
  }
}
