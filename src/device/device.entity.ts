import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** A device of one user (spec §2.4). The client makes the id up, so two users may have the same one, for two devices. */
@Entity('devices')
export class Device {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId!: string;

  @Column('text', { name: 'device_name', nullable: true })
  deviceName!: string | null;

  @Column('text', { name: 'user_agent', nullable: true })
  userAgent!: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_seen_at', default: () => 'now()' })
  lastSeenAt!: Date;
}
