import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { OfUser } from '../../../platform/database/of-user.js';

declare module '../../../user/user-lifecycle.js' {
  interface UserStates {
    /** What the directory of the provider says; absent: it does not know the user. */
    readonly directory?: { readonly active: boolean; readonly changed_at: Date };
  }
}

/** Whether the directory of the provider lets a user in; users whom it does not know have no row. */
@OfUser(true)
@Entity('directory_states')
@Index('directory_states_newest', ['active', 'createdAt', 'userId'])
export class DirectoryState {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('boolean')
  active!: boolean;

  @Column('timestamptz', { name: 'changed_at' })
  changedAt!: Date;

  /** That of the user: the search for users by their state is in the order of its index. */
  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;
}
