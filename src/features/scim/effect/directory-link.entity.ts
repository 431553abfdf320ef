import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import { OfUser } from '../../../platform/database/of-user.js';

/**
 * The directory user who last had the name of a user. The link stays after a change of either name, so that
 * the end of the directory user reaches this user.
 */
@OfUser(true)
@ReferenceTable()
@Entity('directory_links')
export class DirectoryLink {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Index('directory_links_directory_user_id')
  @Column('uuid', { name: 'directory_user_id' })
  directoryUserId!: string;
}
