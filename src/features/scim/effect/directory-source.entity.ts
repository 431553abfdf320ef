import { Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/**
 * A claim that the directory of a provider has sent at least once: it replaces the provider's from then on.
 */
@ReferenceTable()
@Entity('directory_sources')
export class DirectorySource {
  @PrimaryColumn('text')
  provider!: string;

  @PrimaryColumn('text')
  claim!: 'groups' | 'roles';
}
