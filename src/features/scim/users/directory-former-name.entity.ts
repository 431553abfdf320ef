import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/**
 * Name that a directory user had, and no directory user has now. Sign-ins with it are refused if that
 * directory user is inactive or deleted.
 */
@ReferenceTable()
@Entity('directory_former_names')
export class DirectoryFormerName {
  @PrimaryColumn('text')
  provider!: string;

  /** Value of `scim_attribute`, as `toNameKey` makes it. */
  @PrimaryColumn('text')
  name!: string;

  /** The row of a deleted directory user is gone. */
  @Column('uuid', { name: 'directory_user_id' })
  directoryUserId!: string;
}
