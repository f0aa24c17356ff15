import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { PictureEntity } from './picture.entity.js';

/** A person as the mirror keeps one. Written by the mirror alone; `docs/architecture.md` says how it is read. */
@Entity('users')
@Unique('users_entry_uuid_unique', ['entryUuid'])
@Unique('users_id_unique', ['idFolded'], { deferrable: 'INITIALLY DEFERRED' })
@Index('users_by_name', ['sortName', 'key'])
@Index('users_by_dn', ['dnKey'])
@Index('users_by_update', ['updatedAt', 'key'])
@Index('users_photo', ['photo'], { where: 'photo is not null' })
@Index('users_picture', ['picture'], { where: 'picture is not null' })
// Of expressions or for other operators than comparison: only the migration can say how they are.
@Index('users_by_school_year', { synchronize: false })
@Index('users_search', { synchronize: false })
@Index('users_search_pairs', { synchronize: false })
export class UserEntity {
  /** Ours alone: short, and stable through renames. */
  @PrimaryGeneratedColumn('identity', { primaryKeyConstraintName: 'users_pk', generatedIdentity: 'ALWAYS' })
  key!: number;

  /** The identity of the entry (RFC 4530): survives renames and moves. */
  @Column('uuid', { name: 'entry_uuid' })
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

  @Column({ type: 'text', name: 'given_name', nullable: true })
  givenName!: string | null;

  @Column({ type: 'text', name: 'family_name', nullable: true })
  familyName!: string | null;

  @Column({ type: 'text', nullable: true })
  email!: string | null;

  @Column({ type: 'text', name: 'school_year', nullable: true, collation: 'C' })
  schoolYear!: string | null;

  /** SHA-256 of the photo, which is in `pictures`. */
  @Column('bytea', { nullable: true })
  photo!: Buffer | null;

  /** SHA-256 of the picture, which is in `pictures`. */
  @Column('bytea', { nullable: true })
  picture!: Buffer | null;

  @ManyToOne(() => PictureEntity)
  @JoinColumn({ name: 'photo', foreignKeyConstraintName: 'users_photo_fk' })
  photoBytes!: PictureEntity | null;

  @ManyToOne(() => PictureEntity)
  @JoinColumn({ name: 'picture', foreignKeyConstraintName: 'users_picture_fk' })
  pictureBytes!: PictureEntity | null;

  /** The folded name: what pages are ordered by. */
  @Column({ type: 'text', name: 'sort_name', collation: 'C' })
  sortName!: string;

  /** Folded id and name, each word after a space: what a search looks through. */
  @Column({ type: 'text', name: 'search_text', collation: 'C' })
  searchText!: string;

  /** Every pair of neighbouring characters of `searchText`, for searches too short for trigrams. */
  @Column({ type: 'text', name: 'search_pairs', array: true, collation: 'C' })
  searchPairs!: string[];

  /** Groups that the person belongs to, directly or through others. */
  @Column('integer', { name: 'group_count', default: 0 })
  groupCount!: number;

  /** Stands for the DN: see keyOfDn. */
  @Column({ type: 'uuid', name: 'dn_key' })
  dnKey!: string;

  /** What the entry holds beyond what is shown: see SourceValues. */
  @Column({ type: 'jsonb', name: 'source_values', nullable: true })
  sourceValues!: Record<string, string[] | null> | null;

  /** SHA-256 of everything mapped: tells whether the entry has changed. */
  @Column('bytea', { name: 'content_hash' })
  contentHash!: Buffer;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3 })
  updatedAt!: Date;
}
