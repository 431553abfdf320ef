import { Entity, Index, PrimaryColumn } from 'typeorm';

/** On this instance, this device of this user has an open socket. */
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
