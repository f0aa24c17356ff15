import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { GroupEntity } from '../groups/group.entity.js';
import { UserEntity } from '../users/user.entity.js';

/** A person named by a group's entry: the direct memberships, as the directory has them. */
@Entity('memberships')
@Check('memberships_role_known', 'role between 1 and 3')
export class MembershipEntity {
  @PrimaryColumn('integer', { name: 'group_key', primaryKeyConstraintName: 'memberships_pk' })
  groupKey!: number;

  @Index('memberships_by_user')
  @PrimaryColumn('integer', { name: 'user_key', primaryKeyConstraintName: 'memberships_pk' })
  userKey!: number;

  @ManyToOne(() => GroupEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'group_key', foreignKeyConstraintName: 'memberships_group_fk' })
  group!: GroupEntity;

  @ManyToOne(() => UserEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_key', foreignKeyConstraintName: 'memberships_user_fk' })
  user!: UserEntity;

  /** 1 MEMBER, 2 ADMIN, 3 OWNER. */
  @Column('smallint')
  role!: number;
}
