import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { GroupEntity } from '../groups/group.entity.js';
import { UserEntity } from '../users/user.entity.js';

/**
 * Who belongs to which group over every way in, with the highest role: worked out by the mirror when something
 * changes, so that nobody who asks waits for it. It carries what pages are ordered by, and what most of them show.
 */
@Entity('effective_memberships')
@Check('effective_memberships_role_known', 'role between 1 and 3')
@Check('effective_memberships_direct_role_known', 'direct_role between 1 and role')
@Check(
  'effective_memberships_origin',
  '(direct_role is not distinct from role) = (cardinality(inherited_from) = 0)',
)
// Of an expression, or with columns that are only carried along: only the migration can say how they are.
@Index('effective_memberships_by_user_name', { synchronize: false })
@Index('effective_memberships_by_role', { synchronize: false })
@Index('effective_memberships_by_group_name', { synchronize: false })
export class EffectiveMembershipEntity {
  @PrimaryColumn('integer', { name: 'group_key', primaryKeyConstraintName: 'effective_memberships_pk' })
  groupKey!: number;

  @PrimaryColumn('integer', { name: 'user_key', primaryKeyConstraintName: 'effective_memberships_pk' })
  userKey!: number;

  @ManyToOne(() => GroupEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'group_key', foreignKeyConstraintName: 'effective_memberships_group_fk' })
  group!: GroupEntity;

  @ManyToOne(() => UserEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_key', foreignKeyConstraintName: 'effective_memberships_user_fk' })
  user!: UserEntity;

  /** The highest role over all ways in: 1 MEMBER, 2 ADMIN, 3 OWNER. */
  @Column('smallint')
  role!: number;

  /** The role given by name; null when the person only comes through another group. */
  @Column({ type: 'smallint', name: 'direct_role', nullable: true })
  directRole!: number | null;

  /** Keys of the groups directly inside, through which `role` is held; empty when it is direct. */
  @Column({ type: 'integer', name: 'inherited_from', array: true })
  inheritedFrom!: number[];

  @Column({ type: 'text', name: 'user_sort_name', collation: 'C' })
  userSortName!: string;

  @Column({ type: 'text', name: 'group_sort_name', collation: 'C' })
  groupSortName!: string;

  @Column({ type: 'text', name: 'user_id' })
  userId!: string;

  @Column({ type: 'text', name: 'user_name' })
  userName!: string;

  @Column({ type: 'text', name: 'user_school_year', nullable: true, collation: 'C' })
  userSchoolYear!: string | null;

  @Column({ type: 'boolean', name: 'user_has_photo' })
  userHasPhoto!: boolean;

  @Column({ type: 'boolean', name: 'user_has_picture' })
  userHasPicture!: boolean;

  @Column({ type: 'text', name: 'group_id' })
  groupId!: string;

  @Column({ type: 'text', name: 'group_name' })
  groupName!: string;
}
