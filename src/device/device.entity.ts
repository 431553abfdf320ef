import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/**
 * A device of one user (spec §2.4). Clients generate the id, so two users may have two devices with one id.
 */
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

  /** Address of the last sign-in, as `AUDIT_ADDRESSES` allows. */
  @Column('text', { nullable: true })
  address!: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_seen_at', default: () => 'now()' })
  lastSeenAt!: Date;
}
