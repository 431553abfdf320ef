import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../database/citus.js';

/** A person whom the directory has deleted: sign-ins are refused until it creates the user again. */
@ReferenceTable()
@Entity('directory_removals')
@Index('directory_removals_removed_at', ['provider', 'removedAt'])
export class DirectoryRemoval {
  @PrimaryColumn('text')
  provider!: string;

  /** Value of `scim_attribute`. */
  @PrimaryColumn('text')
  name!: string;

  @Column('timestamptz', { name: 'removed_at', default: () => 'now()' })
  removedAt!: Date;
}
