import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../database/expires.js';

/** An event of a user's history, kept until its `ttl` is over. */
@Expires()
@Entity('channel_events')
export class StoredChannelEvent {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn('bigint', { name: 'event_offset' })
  eventOffset!: string;

  @Column('uuid')
  id!: string;

  @Column('text')
  event!: string;

  /** JSON, as text: what was pushed comes out again, letter for letter. */
  @Column('text')
  data!: string;

  /** Null: for all of the user's devices. */
  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  @Column('timestamptz', { name: 'sent_at' })
  sentAt!: Date;

  @Index('channel_events_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
