import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

const KEY = 'access_log_pk';

/** How often somebody was shown a field of people on one day, and of how many people. */
@Entity('access_log')
@Check('access_log_counted', 'requests > 0 and people > 0')
export class AccessLogEntity {
  /** In UTC. */
  @PrimaryColumn('date', { primaryKeyConstraintName: KEY })
  day!: string;

  /** See Onlooker. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY })
  principal!: string;

  /** See Onlooker. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY, name: 'acting_for' })
  actingFor!: string;

  /** Such as `User.email`. */
  @PrimaryColumn('text', { primaryKeyConstraintName: KEY })
  field!: string;

  @Column('bigint')
  requests!: string;

  /** Whoever was shown twice is counted twice. */
  @Column('bigint')
  people!: string;
}
