import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../platform/database/clock.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { IdempotencyKey } from './idempotency-key.entity.js';

/** Seconds for which an answer is stored. */
const TTL = 86_400;

// Waits for another transaction with this key, and returns its answer unless it failed or has expired.
// The time is a parameter: a distributed database may reject `now()` in ON CONFLICT.
const CLAIM = `
  INSERT INTO idempotency_keys AS k (key_hash, body_hash, expires_at)
  VALUES ($1, $2, $3::timestamptz + make_interval(secs => ${TTL}))
  ON CONFLICT (key_hash) DO UPDATE SET
    body_hash = CASE WHEN k.expires_at > $3 THEN k.body_hash ELSE excluded.body_hash END,
    answer = CASE WHEN k.expires_at > $3 THEN k.answer END,
    expires_at = greatest(k.expires_at, CASE WHEN k.expires_at > $3 THEN k.expires_at ELSE excluded.expires_at END)
  RETURNING k.body_hash, k.answer`;

@Injectable()
export class IdempotencyStore {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Runs work once for a key: later and concurrent requests with that key get the first answer.
   * @param work runs in the transaction that stores its answer; if it throws, the key is free again
   * @throws OAuthError `invalid_request` if the key was used with other content
   */
  once<Answer>(
    key: string,
    content: unknown[],
    work: (manager: EntityManager) => Promise<Answer>,
  ): Promise<Answer> {
    const keyHash = hash('sha256', key, 'buffer');
    const bodyHash = hash('sha256', JSON.stringify(content), 'buffer');
    return this.dataSource.transaction(async (manager) => {
      const [known] = await manager.query<{ body_hash: Buffer; answer: string | null }[]>(CLAIM, [
        keyHash,
        bodyHash,
        new Date(this.clock.now()),
      ]);
      if (known!.answer !== null) {
        if (known!.body_hash.equals(bodyHash)) return JSON.parse(known!.answer) as Answer;
        throw new OAuthError('invalid_request', 'this Idempotency-Key was used with another body');
      }
      const answer = await work(manager);
      await manager.update(IdempotencyKey, { keyHash }, { answer: JSON.stringify(answer) });
      return answer;
    });
  }
}
