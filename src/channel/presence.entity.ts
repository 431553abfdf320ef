import { Entity, Index, PrimaryColumn } from 'typeorm';

/** Device of a user with an open socket on an instance. */
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
