import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The counter of a user's history. Its row is locked by whoever appends, so offsets have neither holes nor twins. */
@Entity('channels')
export class Channel {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('bigint', { name: 'last_offset' })
  lastOffset!: string;
}
