import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { GroupEntity } from '../groups/group.entity.js';
import { UserEntity } from '../users/user.entity.js';

/** A person named by a group's entry: the direct memberships, as the directory has them. */
@Entity('memberships')
@Check('memberships_named_as_known', 'named_as between 1 and 7')
@Check(
  'memberships_role_is_highest',
  'role = case when named_as >= 4 then 3 when named_as >= 2 then 2 else 1 end',
)
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

  /** The attributes that name the person: 1 member, 2 admin, 4 owner, added up. */
  @Column('smallint', { name: 'named_as' })
  namedAs!: number;

  /** 1 MEMBER, 2 ADMIN, 3 OWNER: what the highest of those attributes gives. */
  @Column('smallint')
  role!: number;
}
