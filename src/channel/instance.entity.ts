import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../database/citus.js';

/** An instance of the service that holds sockets, and when it was last heard of. */
@ReferenceTable()
@Entity('instances')
export class Instance {
  @PrimaryColumn('uuid', { name: 'instance_id' })
  instanceId!: string;

  @Column('timestamptz', { name: 'seen_at' })
  seenAt!: Date;
}
