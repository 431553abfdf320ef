import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../../../platform/database/reference-table.js';

/** The last request of a directory, and the last one that was refused. */
@ReferenceTable()
@Entity('directory_activity')
export class DirectoryActivity {
  @PrimaryColumn('text')
  provider!: string;

  @Column('timestamptz', { name: 'requested_at' })
  requestedAt!: Date;

  /** Method and path, without the query. */
  @Column('text')
  request!: string;

  @Column('timestamptz', { name: 'failed_at', nullable: true })
  failedAt!: Date | null;

  @Column('jsonb', { nullable: true })
  failure!: Failure | null;
}

/** A refused request, and its answer (RFC 7644 §3.12). */
export interface Failure {
  readonly request: string;
  readonly status: number;
  readonly scimType: string | null;
  readonly detail: string;
}
