import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

const KEY = 'access_log_pk';

/** How often an actor read a personal field on one day, and of how many users. */
@Entity('access_log')
@Check('access_log_counted', 'requests > 0 and users > 0')
export class AccessLogEntity {
  /** In UTC. */
  @PrimaryColumn('date', { primaryKeyConstraintName: KEY })
  day!: string;

  /** See AuditActor. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY })
  principal!: string;

  /** See AuditActor. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY, name: 'acting_for' })
  actingFor!: string;

  /** Such as `User.email`. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY })
  field!: string;

  @Column('bigint')
  requests!: string;

  /** A user that was read twice counts twice. */
  @Column('bigint')
  users!: string;
}
