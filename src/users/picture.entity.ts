import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** The bytes of a photo or picture, once for all people that have the same. Written by the mirror alone. */
@Entity('pictures')
@Check('pictures_sha256_length', 'octet_length(sha256) = 32')
export class PictureEntity {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'pictures_pk' })
  sha256!: Buffer;

  /** As the directory has them. */
  @Column('bytea')
  bytes!: Buffer;
}
