import { ID, ObjectType } from '@nestjs/graphql';
import { Check, Column, Entity, PrimaryColumn, Index, JoinColumn, ManyToOne } from 'typeorm';
import type { Scope } from '../auth/principal.js';
import { Shown } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/derived-fields.js';

/** The account of a program. It is not mirrored: an operator creates it with `directory service-account create`. */
@ObjectType('ServiceAccount', {
  description: 'The account of a program. Its requests carry the token of the account and act for no user.',
})
@Entity('service_accounts')
@Check('service_accounts_id_form', `id ~ '^[a-z0-9][a-z0-9-]{1,63}$'`)
export class ServiceAccountEntity {
  @Shown(() => ID, 'The id, which is the first part of the token.')
  @PrimaryColumn('text', { primaryKeyConstraintName: 'service_accounts_pk' })
  id!: string;

  @Shown(() => String, 'The name of the program.')
  @Column('text')
  name!: string;

  @Shown(() => String, 'The purpose of the account.', { nullable: true })
  @Column('text', { nullable: true })
  description!: string | null;

  /** The responsible person: an e-mail address or a name. Null for accounts that are older than this column. */
  @Column('text', { nullable: true })
  contact!: string | null;

  /** Why it reads personal data, and what allows it. */
  @Column('text', { nullable: true })
  purpose!: string | null;

  @Shown(() => [String], 'The scopes of the account.')
  @Column('text', { array: true })
  scopes!: Scope[];

  /** The entryUUIDs of the groups to which the account is limited. Null: it is not limited. */
  @Column('uuid', { name: 'limited_to', array: true, nullable: true })
  limitedTo!: string[] | null;

  @Shown(() => DateTime, 'The time of creation.')
  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Shown(() => DateTime, 'The time at which the account expires. Null if it does not expire.', {
    nullable: true,
  })
  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt!: Date | null;

  @Shown(
    () => DateTime,
    'The time of the last use, with a precision of a minute. Null before the first use.',
    { nullable: true },
  )
  @Column({ type: 'timestamptz', name: 'last_used_at', precision: 3, nullable: true })
  lastUsedAt!: Date | null;

  @Column({ type: 'timestamptz', name: 'revoked_at', precision: 3, nullable: true })
  revokedAt!: Date | null;
}

/** The SHA-256 of a secret of a service account. There are two during a rotation, and one otherwise. */
@Entity('service_account_secrets')
@Check('service_account_secrets_sha256_length', 'octet_length(sha256) = 32')
export class ServiceAccountSecretEntity {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'service_account_secrets_pk' })
  sha256!: Buffer;

  @Index('service_account_secrets_by_account')
  @Column({ type: 'text', name: 'service_account_id' })
  serviceAccountId!: string;

  @ManyToOne(() => ServiceAccountEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'service_account_id', foreignKeyConstraintName: 'service_account_secrets_account_fk' })
  serviceAccount!: ServiceAccountEntity;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt!: Date | null;
}
