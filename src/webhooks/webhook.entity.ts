import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Why a receiver is disabled whose position has expired. */
export const POSITION_LOST = 'changes after its position are no longer kept';

/** How far a receiver of changes is. Its address and secret are only in the file of webhooks. */
@Entity('webhooks')
export class WebhookEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'webhooks_pk' })
  id!: string;

  /** Everything up to here was delivered. */
  @Column('text')
  cursor!: string;

  /** Failed attempts since the last delivery. */
  @Column('integer', { default: 0 })
  attempts!: number;

  @Column({ type: 'timestamptz', name: 'failing_since', precision: 3, nullable: true })
  failingSince!: Date | null;

  @Column({ type: 'timestamptz', name: 'next_attempt_at', precision: 3, nullable: true })
  nextAttemptAt!: Date | null;

  /** Nothing is sent until an operator enables it again. */
  @Column({ type: 'timestamptz', name: 'disabled_at', precision: 3, nullable: true })
  disabledAt!: Date | null;

  /** Why the last attempt failed. */
  @Column('text', { nullable: true })
  failure!: string | null;
}
