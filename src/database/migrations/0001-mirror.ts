import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The tables and indexes of the mirror. Text is folded by the application and compared byte by byte (collation
 * "C"), so that pages have the same order on every server.
 */
export class Mirror1763683200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create extension if not exists pg_trgm');
    await runner.query(`
      create table pictures (
        sha256 bytea not null constraint pictures_pk primary key,
        bytes bytea not null,
        constraint pictures_sha256_length check (octet_length(sha256) = 32)
      )`);
    // Compressing JPEG data again costs time and saves no space.
    await runner.query('alter table pictures alter column bytes set storage external');
    await runner.query(`
      create table users (
        key integer generated always as identity constraint users_pk primary key,
        entry_uuid uuid not null constraint users_entry_uuid_unique unique,
        dn text not null,
        id text not null,
        id_folded text collate "C" not null,
        name text not null,
        given_name text,
        family_name text,
        email text,
        school_year text collate "C",
        photo bytea constraint users_photo_fk references pictures,
        picture bytea constraint users_picture_fk references pictures,
        sort_name text collate "C" not null,
        search_text text collate "C" not null,
        search_pairs text[] collate "C" not null,
        group_count integer not null default 0,
        content_hash bytea not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        constraint users_id_unique unique (id_folded) deferrable initially deferred
      )`);
    await runner.query(`
      create table groups (
        key integer generated always as identity constraint groups_pk primary key,
        entry_uuid uuid not null constraint groups_entry_uuid_unique unique,
        dn text not null,
        id text not null,
        id_folded text collate "C" not null,
        name text not null,
        description text,
        website text,
        email text,
        sort_name text collate "C" not null,
        search_text text collate "C" not null,
        search_pairs text[] collate "C" not null,
        member_count integer not null default 0,
        content_hash bytea not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        constraint groups_id_unique unique (id_folded) deferrable initially deferred
      )`);
    await runner.query(`
      create table memberships (
        group_key integer not null constraint memberships_group_fk references groups on delete cascade,
        user_key integer not null constraint memberships_user_fk references users on delete cascade,
        role smallint not null constraint memberships_role_known check (role between 1 and 3),
        constraint memberships_pk primary key (group_key, user_key)
      )`);
    await runner.query(`
      create table nestings (
        outer_key integer not null constraint nestings_outer_fk references groups on delete cascade,
        inner_key integer not null constraint nestings_inner_fk references groups on delete cascade,
        role smallint not null constraint nestings_role_known check (role between 1 and 3),
        constraint nestings_pk primary key (outer_key, inner_key),
        constraint nestings_not_itself check (outer_key <> inner_key)
      )`);
    await runner.query(`
      create table effective_memberships (
        group_key integer not null constraint effective_memberships_group_fk references groups on delete cascade,
        user_key integer not null constraint effective_memberships_user_fk references users on delete cascade,
        role smallint not null constraint effective_memberships_role_known check (role between 1 and 3),
        direct_role smallint,
        inherited_from integer[] not null,
        user_sort_name text collate "C" not null,
        group_sort_name text collate "C" not null,
        constraint effective_memberships_pk primary key (group_key, user_key),
        constraint effective_memberships_direct_role_known check (direct_role between 1 and role),
        constraint effective_memberships_origin
          check ((direct_role is not distinct from role) = (cardinality(inherited_from) = 0))
      )`);
    for (const statement of INDEXES) await runner.query(statement);
    await runner.query(`
      create table revisions (
        id integer generated always as identity constraint revisions_pk primary key,
        applied_at timestamptz(3) not null,
        users_created integer not null,
        users_updated integer not null,
        users_deleted integer not null,
        groups_created integer not null,
        groups_updated integer not null,
        groups_deleted integer not null,
        memberships_added integer not null,
        memberships_changed integer not null,
        memberships_removed integer not null,
        confirmed boolean not null
      )`);
    await runner.query('create index revisions_applied_at on revisions (applied_at)');
    await runner.query(`
      create table mirror_state (
        only_row boolean not null default true constraint mirror_state_pk primary key,
        state text not null constraint mirror_state_known
          check (state in ('NEVER_RUN', 'IDLE', 'RUNNING', 'FAILING', 'BLOCKED')),
        as_of timestamptz(3),
        reason text,
        blocked_plan text,
        source_fingerprint text,
        user_count integer not null default 0,
        group_count integer not null default 0,
        revision integer constraint mirror_state_revision_fk references revisions,
        constraint mirror_state_one_row check (only_row)
      )`);
    await runner.query(`insert into mirror_state (state) values ('NEVER_RUN')`);
    await runner.query(`
      create table quarantined_entries (
        position integer not null constraint quarantined_entries_pk primary key,
        dn text not null,
        attribute text,
        reason text not null
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop table quarantined_entries, mirror_state, revisions, effective_memberships, nestings, memberships,
        groups, users, pictures`);
  }
}

const INDEXES = [
  'create index users_by_name on users (sort_name, key)',
  `create index users_by_school_year on users (coalesce(school_year, ''), sort_name, key)`,
  'create index users_by_update on users (updated_at, key)',
  'create index users_search on users using gin (search_text gin_trgm_ops)',
  'create index users_search_pairs on users using gin (search_pairs)',
  'create index users_photo on users (photo) where photo is not null',
  'create index users_picture on users (picture) where picture is not null',
  'create index groups_by_name on groups (sort_name, key)',
  'create index groups_by_member_count on groups (member_count, sort_name, key)',
  'create index groups_by_member_count_descending on groups ((-member_count), sort_name, key)',
  'create index groups_by_update on groups (updated_at, key)',
  'create index groups_search on groups using gin (search_text gin_trgm_ops)',
  'create index groups_search_pairs on groups using gin (search_pairs)',
  'create index memberships_by_user on memberships (user_key)',
  'create index nestings_by_inner on nestings (inner_key)',
  `create index effective_memberships_by_user_name on effective_memberships
     (group_key, user_sort_name, user_key) include (role)`,
  `create index effective_memberships_by_role on effective_memberships
     (group_key, (-role), user_sort_name, user_key)`,
  `create index effective_memberships_by_group_name on effective_memberships
     (user_key, group_sort_name, group_key) include (role)`,
];
