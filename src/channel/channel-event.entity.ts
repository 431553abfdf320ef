import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Expires } from '../platform/database/expires.js';

/** Event of a user's history, stored until its `ttl` has passed. */
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

  /** JSON as text, so that it is delivered as it was pushed. */
  @Column('text')
  data!: string;

  /** Null: for all devices of the user. */
  @Column('uuid', { name: 'device_id', nullable: true })
  deviceId!: string | null;

  @Column('timestamptz', { name: 'sent_at' })
  sentAt!: Date;

  @Index('channel_events_expires_at')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}

/** Counter of a user's history. An append locks its row, so offsets have no gaps and no duplicates. */
@Entity('channels')
export class Channel {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('bigint', { name: 'last_offset' })
  lastOffset!: string;
}
