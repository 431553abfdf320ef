import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/** A group of a provider's directory. */
@ReferenceTable()
@Entity('directory_groups')
@Index('directory_groups_external_id', ['provider', 'externalId'], {
  unique: true,
  where: 'external_id IS NOT NULL AND NOT removed',
})
@Index('directory_groups_display_name', ['provider', 'displayNameKey'])
@Index('directory_groups_created_at', ['provider', 'createdAt', 'id'])
export class DirectoryGroup {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  provider!: string;

  @Column('text', { name: 'display_name' })
  displayName!: string;

  /** In lower case, for filters. */
  @Column('text', { name: 'display_name_key' })
  displayNameKey!: string;

  @Column('text', { name: 'external_id', nullable: true })
  externalId!: string | null;

  /** Never less than the number of members: the deletion of a user does not change it. */
  @Column('integer', { name: 'member_count', default: 0 })
  memberCount!: number;

  /** The group was deleted, and some of its users have its name in their claims yet. */
  @Column('boolean', { default: false })
  removed!: boolean;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'changed_at', default: () => 'now()' })
  changedAt!: Date;
}

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
