import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../database/citus.js';

/** Instance of the service with sockets, and the time of its last heartbeat. */
@ReferenceTable()
@Entity('instances')
export class Instance {
  @PrimaryColumn('uuid', { name: 'instance_id' })
  instanceId!: string;

  @Column('timestamptz', { name: 'seen_at' })
  seenAt!: Date;
}
