import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Memberships carry the values of custom fields of their users (docs/adr/0039). Null: they are read from `users`, because they
 * are long, or because nothing has written them since this migration.
 */
export class CarriedValues1763683200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table effective_memberships add user_field_values json');
    await runner.query(`
      create function carried_values(field_values jsonb) returns json language sql immutable parallel safe as $$
        select case when octet_length(field_values::text) <= 500 then field_values::json end $$`);
    // A trigger, so that no process can write values that differ, also not one of the previous release.
    await runner.query(`
      create function carry_field_values() returns trigger language plpgsql set search_path from current as $$
      begin
        update effective_memberships set user_field_values = carried_values(new.field_values) where user_key = new.key;
        return null;
      end $$`);
    await runner.query(`
      create trigger users_carry_field_values after update of field_values on users
        for each row when (old.field_values is distinct from new.field_values) execute function carry_field_values()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger users_carry_field_values on users');
    await runner.query('drop function carry_field_values()');
    await runner.query('drop function carried_values(jsonb)');
    await runner.query('alter table effective_memberships drop user_field_values');
  }
}
