import { Column, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';

/** A group as the mirror keeps one. Written by the mirror alone. */
@Entity('groups')
@Unique('groups_entry_uuid_unique', ['entryUuid'])
@Unique('groups_id_unique', ['idFolded'], { deferrable: 'INITIALLY DEFERRED' })
@Index('groups_by_name', ['sortName', 'key'])
@Index('groups_by_dn', ['dnKey'])
@Index('groups_by_member_count', ['memberCount', 'sortName', 'key'])
@Index('groups_by_update', ['updatedAt', 'key'])
// Of expressions or for other operators than comparison: only the migration can say how they are.
@Index('groups_by_member_count_descending', { synchronize: false })
@Index('groups_search', { synchronize: false })
@Index('groups_search_pairs', { synchronize: false })
export class GroupEntity {
  /** Ours alone: short, and stable through renames. */
  @PrimaryGeneratedColumn('identity', { primaryKeyConstraintName: 'groups_pk', generatedIdentity: 'ALWAYS' })
  key!: number;

  /** The identity of the entry (RFC 4530): survives renames and moves. */
  @Column({ type: 'uuid', name: 'entry_uuid' })
  entryUuid!: string;

  @Column('text')
  dn!: string;

  @Column('text')
  id!: string;

  /** The id as it is compared: see foldId. */
  @Column({ type: 'text', name: 'id_folded', collation: 'C' })
  idFolded!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text', { nullable: true })
  website!: string | null;

  @Column('text', { nullable: true })
  email!: string | null;

  /** The folded name: what pages are ordered by. */
  @Column({ type: 'text', name: 'sort_name', collation: 'C' })
  sortName!: string;

  /** Folded id and name, each word after a space: what a search looks through. */
  @Column({ type: 'text', name: 'search_text', collation: 'C' })
  searchText!: string;

  /** Every pair of neighbouring characters of `searchText`, for searches too short for trigrams. */
  @Column({ type: 'text', name: 'search_pairs', array: true, collation: 'C' })
  searchPairs!: string[];

  /** People who belong to the group, directly or through others. */
  @Column({ type: 'integer', name: 'member_count', default: 0 })
  memberCount!: number;

  /** Stands for the DN: see keyOfDn. */
  @Column({ type: 'uuid', name: 'dn_key' })
  dnKey!: string;

  /** What the entry holds beyond what is shown: see SourceValues. */
  @Column({ type: 'jsonb', name: 'source_values', nullable: true })
  sourceValues!: Record<string, string[] | null> | null;

  /** SHA-256 of everything mapped but the members: tells whether the entry has changed. */
  @Column({ type: 'bytea', name: 'content_hash' })
  contentHash!: Buffer;

  /** SHA-256 of the DNs that the entry names, and of the attributes that name them. */
  @Column({ type: 'bytea', name: 'references_hash' })
  referencesHash!: Buffer;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3 })
  updatedAt!: Date;
}
