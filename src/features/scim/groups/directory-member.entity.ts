import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

@ReferenceTable()
@Entity('directory_members')
@Index('directory_members_user_id', ['userId'])
export class DirectoryMember {
  @PrimaryColumn('uuid', { name: 'group_id' })
  groupId!: string;

  /** Of the directory user. */
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  /** Not a member any more; the user's claims have the group yet. */
  @Column('boolean', { default: false })
  removed!: boolean;
}
