import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Why nothing can be sent to a receiver whose position has expired. */
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

  /** Seconds for which these attempts have failed. */
  @Column('integer', { name: 'failed_seconds', default: 0 })
  failedSeconds!: number;

  /** Why the last attempt failed. */
  @Column('text', { nullable: true })
  failure!: string | null;
}

export type WebhookState = Readonly<WebhookEntity>;

export const NO_FAILURE = { attempts: 0, failedSeconds: 0, failure: null } as const;
