import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ReferenceTable } from '../platform/database/reference-table.js';
import { Transient } from '../platform/database/transient.js';

/** Device of a user with an open socket on an instance. */
@Transient()
@Entity('presence')
export class Presence {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  /** The zero UUID stands for sessions without a device. */
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId!: string;

  @Index('presence_instance_id')
  @PrimaryColumn('uuid', { name: 'instance_id' })
  instanceId!: string;
}

/** Instance of the service with sockets, and the time of its last heartbeat. */
@ReferenceTable()
@Transient()
@Entity('instances')
export class Instance {
  @PrimaryColumn('uuid', { name: 'instance_id' })
  instanceId!: string;

  @Column('timestamptz', { name: 'seen_at' })
  seenAt!: Date;
}
