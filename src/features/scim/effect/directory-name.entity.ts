import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';
import type { AllowFacts } from '../../../provider/identity/allow.js';

/** Who a user is in the directory of the provider. */
@ReferenceTable()
@Entity('directory_names')
@Index('directory_names_name', ['provider', 'name'])
@Index('directory_names_name_key', ['provider', 'nameKey'])
@Index('directory_names_directory_user_id', ['directoryUserId'], { where: 'directory_user_id IS NOT NULL' })
export class DirectoryName {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  /** Value of `scim_claim` at the last sign-in. */
  @Column('text')
  name!: string;

  /** The name in lower case, for `scim_attribute=userName`. */
  @Column('text', { name: 'name_key' })
  nameKey!: string;

  /**
   * The directory user who last had the name of the user. It stays after a change of either name, so that the
   * end of the directory user reaches this user.
   */
  @Column('uuid', { name: 'directory_user_id', nullable: true })
  directoryUserId!: string | null;

  /** What the setting `allow` has read at the last sign-in; null without it. */
  @Column('jsonb', { nullable: true })
  facts!: AllowFacts | null;

  /** Last sign-in that changed the name or the facts. */
  @Column('timestamptz', { name: 'named_at', default: () => 'now()' })
  namedAt!: Date;
}
