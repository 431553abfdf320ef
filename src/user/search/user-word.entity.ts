import { Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Word of a user's name or of the local part of the e-mail address, followed by the other words, as
 * `wordKeys` makes them; or a name of the user at the provider (`nameKey`). The primary key is (word,
 * user_id): it is the order of the search.
 */
@Entity('user_words')
@Index('user_words_user_id', ['userId'])
export class UserWord {
  @PrimaryColumn('uuid', { name: 'user_id' })
  userId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  word!: string;
}
