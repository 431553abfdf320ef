import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import type { UserResource } from './user-resource.js';

/** A user of a provider's directory, who need not have signed in. */
@ReferenceTable()
@Entity('directory_users')
@Index('directory_users_user_name', ['provider', 'userNameKey'], { unique: true })
@Index('directory_users_external_id', ['provider', 'externalId'], {
  unique: true,
  where: 'external_id IS NOT NULL',
})
@Index('directory_users_created_at', ['provider', 'createdAt', 'id'])
@Index('directory_users_email_keys', { synchronize: false })
export class DirectoryUser {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  provider!: string;

  @Column('text', { name: 'user_name' })
  userName!: string;

  /** In lower case: the name is unique without case. */
  @Column('text', { name: 'user_name_key' })
  userNameKey!: string;

  @Column('text', { name: 'external_id', nullable: true })
  externalId!: string | null;

  @Column('text', { name: 'display_name_key', nullable: true })
  displayNameKey!: string | null;

  /** For filters: see `emailKeys`. */
  @Column('text', { name: 'email_keys', array: true })
  emailKeys!: string[];

  @Column('boolean')
  active!: boolean;

  /** Everything that is kept, as it was sent. */
  @Column('jsonb')
  resource!: UserResource;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  /** When `active` has last become true; of an inactive user without a meaning. */
  @Column('timestamptz', { name: 'activated_at', default: () => 'now()' })
  activatedAt!: Date;

  @Column('timestamptz', { name: 'changed_at', default: () => 'now()' })
  changedAt!: Date;
}

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
