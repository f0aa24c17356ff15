import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { GroupEntity } from './group.entity.js';

/** A group named as a member of another one: whoever is in the inner one holds `role` in the outer one. */
@Entity('nestings')
@Check('nestings_named_as_known', 'named_as between 1 and 7')
@Check(
  'nestings_role_is_highest',
  'role = case when named_as >= 4 then 3 when named_as >= 2 then 2 else 1 end',
)
@Check('nestings_not_itself', 'outer_key <> inner_key')
export class NestingEntity {
  @PrimaryColumn('integer', { name: 'outer_key', primaryKeyConstraintName: 'nestings_pk' })
  outerKey!: number;

  @Index('nestings_by_inner')
  @PrimaryColumn('integer', { name: 'inner_key', primaryKeyConstraintName: 'nestings_pk' })
  innerKey!: number;

  @ManyToOne(() => GroupEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'outer_key', foreignKeyConstraintName: 'nestings_outer_fk' })
  outer!: GroupEntity;

  @ManyToOne(() => GroupEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'inner_key', foreignKeyConstraintName: 'nestings_inner_fk' })
  inner!: GroupEntity;

  /** The attributes that name the inner group: 1 member, 2 admin, 4 owner, added up. */
  @Column('smallint', { name: 'named_as' })
  namedAs!: number;

  /** 1 MEMBER, 2 ADMIN, 3 OWNER: what the highest of those attributes gives. */
  @Column('smallint')
  role!: number;
}
