import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/** Why a directory ends all sessions of a user: it does not let the user in, or `allow` does not. */
export type DirectoryCause = 'directory' | 'not_allowed';

/**
 * What is left to do of a committed change. It is written with the change, and done again after a crash.
 */
@ReferenceTable()
@Entity('directory_tasks')
@Index('directory_tasks_created_at', ['createdAt'])
export class DirectoryTask {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  provider!: string;

  /**
   * `group`, `everyone`: apply the claims of the members, of all users. A cause: end all sessions of a user.
   */
  @Column('text')
  kind!: 'group' | 'everyone' | DirectoryCause;

  /** The id of the group or user, or the provider. */
  @Column('text')
  subject!: string;

  /** The last user of the slice before; null: none. */
  @Column('uuid', { nullable: true })
  after!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
