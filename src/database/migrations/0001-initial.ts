import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CREATE_IS_LED_WITH_OTHER_RULES } from '../visibility/rules-in-mirror.js';

/** All tables. Text is folded by the application and compared byte by byte (collation "C"): pages have one order on every server. */
export class Initial1763683200100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of STATEMENTS) await runner.query(statement);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('There is nothing before the first migration'));
  }
}

const level = (column: string) => `${column} smallint not null default 0 check (${column} between 0 and 2)`;

/** The first revision creates these indexes when it has written its rows, which takes a tenth of the time of adding each row to them. */
export const MIRROR_INDEXES = [
  'entries_by_dn on entries (dn_key)',
  'entries_by_id on entries (id_folded)',
  'entries_in_quarantine on entries (key) where reason is not null or notes is not null',
  'names_by_entry on names (key)',
  'references_by_target on "references" (target, field, from_sort_name, from_key)',
  'users_by_name on users (sort_name, key)',
  `users_by_school_year on users (coalesce(school_year_compared, ''), sort_name, key)`,
  'users_by_family_name on users (family_sort_name, sort_name, key)',
  'users_by_creation on users (created_at, key)',
  'users_by_update on users (updated_at, key)',
  'users_by_activity on users (is_active, sort_name, key)',
  'users_by_address on users (lower(email collate "C"))',
  'users_search on users using gin (search_text gin_trgm_ops, search_pairs)',
  'users_by_letters on users (name_letters)',
  'users_photo on users (photo) where photo is not null',
  'users_picture on users (picture) where picture is not null',
  'groups_by_name on groups (sort_name, key)',
  'groups_by_member_count on groups (member_count, sort_name, key)',
  'groups_by_member_count_descending on groups ((-member_count), sort_name, key)',
  'groups_by_address on groups (lower(email collate "C"))',
  'groups_by_update on groups (updated_at, key)',
  'groups_by_shown_update on groups (coalesce(shown_updated_at, updated_at), key)',
  'groups_search on groups using gin (search_text gin_trgm_ops, search_pairs)',
  'groups_by_letters on groups (name_letters)',
  'nestings_by_inner on nestings (inner_key)',
  'effective_memberships_by_user_name on effective_memberships (group_key, user_sort_name, user_key) include (role)',
  'effective_memberships_by_role on effective_memberships (group_key, (-role), user_sort_name, user_key)',
  `effective_memberships_by_group_name on effective_memberships (user_key, group_sort_name, group_key)
     include (role, group_id, group_name)`,
  'users_hidden on users (key) where visible_to > 0',
  'groups_hidden on groups (key) where visible_to > 0 or members_visible_to > 0',
  'effective_memberships_of_hidden_users on effective_memberships (group_key, user_key) where user_visible_to > 0',
  `effective_memberships_of_hidden_groups on effective_memberships (user_key, group_key)
     where group_visible_to > 0 or group_members_visible_to > 0`,
].map((definition) => `create index if not exists ${definition}`);

const STATEMENTS = [
  'create extension if not exists pg_trgm',
  // The entries of the directory, and what they name.
  `create table entries (
    key integer generated always as identity constraint entries_pk primary key,
    uuid uuid not null constraint entries_uuid_unique unique,
    kind text not null check (kind in ('person', 'group')),
    dn text not null,
    dn_key uuid not null,
    id_folded text collate "C",
    stamp text not null,
    attributes jsonb not null,
    content bytea not null,
    digest bytea not null,
    reason text,
    notes jsonb
  )`,
  // The keys by which entries are named: of their DNs, and where the model has such forms, of ids and others.
  `create table names (
    name uuid not null constraint names_pk primary key,
    key integer not null
  )`,
  `create table "references" (
    from_key integer not null,
    field text collate "C" not null,
    target uuid not null,
    named_as smallint not null check (named_as between 0 and 511),
    from_sort_name text collate "C",
    constraint references_pk primary key (from_key, field, target)
  )`,
  `create table pictures (
    sha256 bytea not null constraint pictures_pk primary key,
    bytes bytea not null
  )`,
  // Compressing JPEG data again costs time and saves no space.
  'alter table pictures alter column bytes set storage external',
  // What queries read. Foreign keys to users and groups, each checked for itself, would take longer than everything else: a revision
  // deletes what belongs to a deleted entry. A page of users keeps space free, so that a new version of a row fits on the page of the
  // old one.
  `create table users (
    key integer constraint users_pk primary key constraint users_entry_fk references entries on delete cascade,
    entry_uuid uuid not null constraint users_entry_uuid_unique unique,
    id text not null,
    id_folded text collate "C" not null,
    name text not null,
    given_name text,
    family_name text,
    email text,
    school_year text collate "C",
    school_year_compared text collate "C",
    photo bytea constraint users_photo_fk references pictures,
    picture bytea constraint users_picture_fk references pictures,
    field_values jsonb,
    is_active boolean not null,
    family_sort_name text collate "C" not null,
    sort_name text collate "C" not null,
    name_letters text collate "C" not null default '',
    search_text text collate "C" not null,
    search_pairs text[] collate "C" not null,
    group_count integer not null default 0,
    ${level('visible_to')},
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    constraint users_id_unique unique (id_folded) deferrable initially deferred
  ) with (fillfactor = 80)`,
  `create table groups (
    key integer constraint groups_pk primary key constraint groups_entry_fk references entries on delete cascade,
    entry_uuid uuid not null constraint groups_entry_uuid_unique unique,
    id text not null,
    id_folded text collate "C" not null,
    name text not null,
    description text,
    website text,
    email text,
    field_values jsonb,
    sort_name text collate "C" not null,
    name_letters text collate "C" not null default '',
    search_text text collate "C" not null,
    search_pairs text[] collate "C" not null,
    member_count integer not null default 0,
    ${level('visible_to')},
    ${level('members_visible_to')},
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    shown_updated_at timestamptz(3),
    constraint groups_id_unique unique (id_folded) deferrable initially deferred
  )`,
  `create table nestings (
    outer_key integer not null,
    inner_key integer not null,
    role smallint not null check (role between 1 and 3),
    constraint nestings_pk primary key (outer_key, inner_key)
  )`,
  `create table effective_memberships (
    group_key integer not null,
    user_key integer not null,
    role smallint not null check (role between 1 and 3),
    direct_role smallint,
    inherited_from integer[] not null,
    user_sort_name text collate "C" not null,
    group_sort_name text collate "C" not null,
    user_id text not null,
    user_name text not null,
    user_school_year text collate "C",
    user_has_photo boolean not null,
    user_has_picture boolean not null,
    group_id text not null,
    group_name text not null,
    user_visible_to smallint not null default 0,
    group_visible_to smallint not null default 0,
    group_members_visible_to smallint not null default 0,
    constraint effective_memberships_pk primary key (group_key, user_key)
  )`,
  // Revisions, the log of changes, and the state of the mirror. The log has no foreign keys: its rows outlive users and groups.
  `create table revisions (
    id integer generated always as identity constraint revisions_pk primary key,
    uuid uuid not null default gen_random_uuid() constraint revisions_uuid_unique unique,
    applied_at timestamptz(3) not null,
    users_deleted integer not null,
    groups_deleted integer not null,
    memberships_removed integer not null,
    attributes_lost jsonb not null default '{}',
    confirmed boolean not null
  )`,
  'create index revisions_applied_at on revisions (applied_at)',
  `create table changes (
    id bigint generated always as identity constraint changes_pk primary key,
    revision integer not null,
    at timestamptz(3) not null,
    kind smallint not null check (kind between 1 and 9),
    user_key integer,
    user_id text,
    user_uuid uuid,
    group_key integer,
    group_id text,
    group_uuid uuid,
    role_before smallint check (role_before between 1 and 3),
    role_after smallint check (role_after between 1 and 3),
    id_before text check (kind in (2, 5) or id_before is null),
    id_folded text collate "C",
    user_visible_to smallint not null default 0,
    group_visible_to smallint not null default 0,
    members_visible_to smallint not null default 0,
    outside_of smallint not null default 0,
    audience integer[],
    admin_audience integer[]
  )`,
  'create index changes_by_time on changes (at, id)',
  'create index changes_by_kind on changes (kind, id)',
  'create index changes_by_user on changes (user_key, id) where user_key is not null',
  'create index changes_by_group on changes (group_key, id) where group_key is not null',
  'create index changes_by_deleted_id on changes (kind, id_folded, id) where id_folded is not null',
  'create index changes_by_deleted_user_uuid on changes (user_uuid, id) where kind = 3',
  'create index changes_by_deleted_group_uuid on changes (group_uuid, id) where kind = 6',
  `create index changes_hidden on changes (id)
     where user_visible_to > 0 or group_visible_to > 0 or members_visible_to > 0 or outside_of > 0`,
  // The key encrypts the numbers of rows in cursors (docs/adr/0038).
  `create table mirror (
    only_row boolean not null default true constraint mirror_pk primary key,
    state text not null check (state in ('NEVER_RUN', 'IDLE', 'RUNNING', 'FAILING', 'BLOCKED')),
    as_of timestamptz(3),
    reason text,
    blocked_plan text,
    source_fingerprint text,
    mode text,
    refusals text,
    context_csns text[] not null default '{}',
    read_whole_at timestamptz,
    leader bigint not null default 0,
    user_count integer not null default 0,
    group_count integer not null default 0,
    revision integer constraint mirror_revision_fk references revisions,
    revision_uuid uuid,
    change_count integer not null default 0,
    changes_pruned_to bigint not null default 0,
    cursor_key bytea not null check (octet_length(cursor_key) = 16)
      default substring(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) for 16),
    check (only_row)
  )`,
  // pg_restore fills materialized views last, after all tables and constraints, also with several jobs. PostgreSQL rejects every
  // statement that reads or writes the state of the mirror before (object_not_in_prerequisite_state).
  'create materialized view database_complete as select true as is_complete',
  'create view mirror_state as select * from mirror where (select is_complete from database_complete)',
  CREATE_IS_LED_WITH_OTHER_RULES,
  // Ids of changes start above those of every earlier database, unless it had more than a million changes per second. A cursor of
  // an earlier log is therefore never valid in this one.
  `insert into mirror (state, changes_pruned_to) values ('NEVER_RUN',
     setval(pg_get_serial_sequence('changes', 'id'), (extract(epoch from clock_timestamp()) * 1000000)::bigint))`,
  // Data of the service itself.
  `create table service_accounts (
    id text not null constraint service_accounts_pk primary key,
    name text not null,
    description text,
    contact text,
    purpose text,
    scopes text[] not null,
    limited_to uuid[],
    created_at timestamptz(3) not null,
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    revoked_at timestamptz(3),
    constraint service_accounts_id_form check (id ~ '^[a-z0-9][a-z0-9-]{1,63}$')
  )`,
  `create table service_account_secrets (
    sha256 bytea not null constraint service_account_secrets_pk primary key,
    service_account_id text not null
      constraint service_account_secrets_account_fk references service_accounts on delete cascade,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3),
    constraint service_account_secrets_sha256_length check (octet_length(sha256) = 32)
  )`,
  'create index service_account_secrets_by_account on service_account_secrets (service_account_id)',
  `create table access_log (
    day date not null,
    principal text not null,
    acting_for text not null,
    field text not null,
    requests bigint not null,
    users bigint not null,
    constraint access_log_pk primary key (day, principal, acting_for, field),
    constraint access_log_counted check (requests > 0 and users > 0)
  )`,
  'create table embedded_keys (name text not null constraint embedded_keys_pk primary key, value jsonb not null)',
  `create table webhooks (
    id text not null constraint webhooks_pk primary key,
    cursor text not null,
    attempts integer not null default 0,
    failed_seconds integer not null default 0,
    failure text
  )`,
];
