import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/**
 * What is left to do of a committed request. It is written with the request, and done again after a crash.
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
   * `person`: end the sessions of the users of a directory user; `user`: of a user whom `allow` does not
   * cover any more; `group`, `everyone`: apply the claims of the members, of all users.
   */
  @Column('text')
  kind!: 'person' | 'user' | 'group' | 'everyone';

  /** The id of the directory user, user or group, or the provider. */
  @Column('text')
  subject!: string;

  /** The last user of the slice before; null: none. */
  @Column('uuid', { nullable: true })
  after!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
