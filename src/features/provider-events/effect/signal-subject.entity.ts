import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Who a user is in the signals of the provider, as of the last sign-in. */
@Entity('signal_subjects')
export class SignalSubject {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @Column('text')
  provider!: string;

  /** Hash of provider and subject (hashOfName), as the sessions have it. */
  @Index('signal_subjects_subject')
  @Column('bytea')
  subject!: Buffer;

  /** Time of the last applied change of claims; null: none since the last sign-in. */
  @Column('timestamptz', { name: 'claims_at', nullable: true })
  claimsAt!: Date | null;
}
