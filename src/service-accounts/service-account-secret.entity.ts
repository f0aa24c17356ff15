import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { ServiceAccountEntity } from './service-account.entity.js';

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
