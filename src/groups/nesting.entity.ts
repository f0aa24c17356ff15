import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { GroupEntity } from './group.entity.js';

/** A group named as a member of another one: whoever is in the inner one holds `role` in the outer one. */
@Entity('nestings')
@Check('nestings_role_known', 'role between 1 and 3')
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

  /** 1 MEMBER, 2 ADMIN, 3 OWNER: the attribute that names the inner group. */
  @Column('smallint')
  role!: number;
}
