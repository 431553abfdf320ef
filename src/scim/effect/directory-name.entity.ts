import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../database/citus.js';
import type { AllowFacts } from '../../provider/identity/allow.js';

/** Who a user is in the directory of the provider, as of the last sign-in. */
@ReferenceTable()
@Entity('directory_names')
@Index('directory_names_name', ['provider', 'name'])
export class DirectoryName {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  /** Value of `scim_claim`. */
  @Column('text')
  name!: string;

  /** What the setting `allow` has read at the last sign-in; null without it. */
  @Column('jsonb', { nullable: true })
  facts!: AllowFacts | null;

  @Column('timestamptz', { name: 'named_at', default: () => 'now()' })
  namedAt!: Date;
}
