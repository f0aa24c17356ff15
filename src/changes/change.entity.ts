import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** Something that a revision changed. Written by the mirror alone, in the order of the ids. */
@Entity('changes')
@Check('changes_kind_known', 'kind between 1 and 9')
@Check('changes_id_before_of_update', 'kind in (2, 5) or id_before is null')
@Check('changes_role_before_known', 'role_before between 1 and 3')
@Check('changes_role_after_known', 'role_after between 1 and 3')
@Check(
  'changes_of_person',
  '(kind not in (4, 5, 6)) = (user_key is not null) and (user_key is null) = (user_id is null)',
)
@Check(
  'changes_of_group',
  '(kind not in (1, 2, 3)) = (group_key is not null) and (group_key is null) = (group_id is null)',
)
@Check(
  'changes_of_role',
  '(kind in (8, 9)) = (role_before is not null) and (kind in (7, 9)) = (role_after is not null)',
)
@Check('changes_of_deleted', '(kind in (3, 6)) = (id_folded is not null)')
@Index('changes_by_time', ['at', 'id'])
@Index('changes_by_kind', ['kind', 'id'])
@Index('changes_by_user', ['userKey', 'id'], { where: 'user_key is not null' })
@Index('changes_by_group', ['groupKey', 'id'], { where: 'group_key is not null' })
@Index('changes_by_deleted_id', ['kind', 'idFolded', 'id'], { where: 'id_folded is not null' })
export class ChangeEntity {
  /** As text, because of its size. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: 'changes_pk',
    generatedIdentity: 'ALWAYS',
  })
  id!: string;

  @Column('integer')
  revision!: number;

  /** When the revision was applied: never before the change with the id before. */
  @Column({ type: 'timestamptz', precision: 3 })
  at!: Date;

  /** See numberOfKind. */
  @Column('smallint')
  kind!: number;

  @Column({ type: 'integer', name: 'user_key', nullable: true })
  userKey!: number | null;

  /** The id that the person had after the revision, or had last. */
  @Column({ type: 'text', name: 'user_id', nullable: true })
  userId!: string | null;

  /** The entryUUID of the person; null in changes that an earlier release wrote. */
  @Column({ type: 'uuid', name: 'user_uuid', nullable: true })
  userUuid!: string | null;

  @Column({ type: 'integer', name: 'group_key', nullable: true })
  groupKey!: number | null;

  @Column({ type: 'text', name: 'group_id', nullable: true })
  groupId!: string | null;

  /** The entryUUID of the group; null in changes that an earlier release wrote. */
  @Column({ type: 'uuid', name: 'group_uuid', nullable: true })
  groupUuid!: string | null;

  @Column({ type: 'smallint', name: 'role_before', nullable: true })
  roleBefore!: number | null;

  @Column({ type: 'smallint', name: 'role_after', nullable: true })
  roleAfter!: number | null;

  /** The id until then, of whoever got another one. */
  @Column({ type: 'text', name: 'id_before', nullable: true })
  idBefore!: string | null;

  /** Of a deletion: the id as it is compared (see foldId), by which people ask for what is gone. */
  @Column({ type: 'text', name: 'id_folded', nullable: true, collation: 'C' })
  idFolded!: string | null;
}
