import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Counter of a user's history. An append locks its row, so offsets have no gaps and no duplicates. */
@Entity('channels')
export class Channel {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('bigint', { name: 'last_offset' })
  lastOffset!: string;
}
