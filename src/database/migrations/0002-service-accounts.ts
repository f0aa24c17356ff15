import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Accounts of programs, and keys that an embedded installation generates. */
export class ServiceAccounts1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table service_accounts (
        id text not null constraint service_accounts_pk primary key,
        name text not null,
        description text,
        scopes text[] not null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        last_used_at timestamptz(3),
        revoked_at timestamptz(3),
        constraint service_accounts_id_form check (id ~ '^[a-z0-9][a-z0-9-]{1,63}$')
      )`);
    await runner.query(`
      create table service_account_secrets (
        sha256 bytea not null constraint service_account_secrets_pk primary key,
        service_account_id text not null
          constraint service_account_secrets_account_fk references service_accounts on delete cascade,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        constraint service_account_secrets_sha256_length check (octet_length(sha256) = 32)
      )`);
    await runner.query(
      'create index service_account_secrets_by_account on service_account_secrets (service_account_id)',
    );
    await runner.query(`
      create table embedded_keys (
        name text not null constraint embedded_keys_pk primary key,
        value jsonb not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table embedded_keys, service_account_secrets, service_accounts');
  }
}
