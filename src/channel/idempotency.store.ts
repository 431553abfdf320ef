import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../database/clock.js';
import { IdempotencyKey } from './idempotency-key.entity.js';

/** Request that takes effect once. */
export interface IdempotentRequest {
  /** SHA-256 of service key and idempotency key. */
  readonly keyHash: Buffer;
  /** SHA-256 of the body. */
  readonly bodyHash: Buffer;
  /** Seconds for which the answer is stored. */
  readonly ttl: number;
}

// Waits for a transaction with the same key, and returns its answer unless it failed or has expired.
// The time is a parameter: Citus rejects `now()` in ON CONFLICT.
const CLAIM = `
  INSERT INTO idempotency_keys AS k (key_hash, body_hash, expires_at)
  VALUES ($1, $2, $4::timestamptz + make_interval(secs => $3))
  ON CONFLICT (key_hash) DO UPDATE SET
    body_hash = CASE WHEN k.expires_at > $4 THEN k.body_hash ELSE excluded.body_hash END,
    answer = CASE WHEN k.expires_at > $4 THEN k.answer END,
    expires_at = greatest(k.expires_at, CASE WHEN k.expires_at > $4 THEN k.expires_at ELSE excluded.expires_at END)
  RETURNING k.body_hash, k.answer`;

/** Answers to requests with an `Idempotency-Key` (contract §4). */
@Injectable()
export class IdempotencyStore {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Runs work once for a key: later and concurrent requests with that key get the first answer.
   * @param work runs in the transaction that stores its answer; undefined is not stored
   * @returns the answer, or 'other body'; undefined if the work returned undefined
   */
  once<Answer>(
    { keyHash, bodyHash, ttl }: IdempotentRequest,
    work: (manager: EntityManager) => Promise<Answer | undefined>,
  ): Promise<{ readonly answer: Answer } | 'other body' | undefined> {
    return this.dataSource.transaction(async (manager) => {
      const [known] = await manager.query<{ body_hash: Buffer; answer: string | null }[]>(CLAIM, [
        keyHash,
        bodyHash,
        ttl,
        new Date(this.clock.now()),
      ]);
      if (known!.answer !== null) {
        if (!known!.body_hash.equals(bodyHash)) return 'other body';
        return { answer: JSON.parse(known!.answer) as Answer };
      }
      const answer = await work(manager);
      if (answer === undefined) {
        await manager.delete(IdempotencyKey, { keyHash });
        return undefined;
      }
      await manager.update(IdempotencyKey, { keyHash }, { answer: JSON.stringify(answer) });
      return { answer };
    });
  }
}
