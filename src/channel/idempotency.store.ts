import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../database/clock.js';
import { IdempotencyKey } from './idempotency-key.entity.js';

/** A request that is to be done once. */
export interface IdempotentRequest {
  /** SHA-256 of who asks and their key. */
  readonly keyHash: Buffer;
  /** SHA-256 of what is asked. */
  readonly bodyHash: Buffer;
  /** For how many seconds it is remembered. */
  readonly ttl: number;
}

// Waits for whoever holds the key; then it is there with its answer, unless that request failed or was too long ago.
// The time is a parameter: Citus refuses `now()` where there is a conflict.
const CLAIM = `
  INSERT INTO idempotency_keys AS k (key_hash, body_hash, expires_at)
  VALUES ($1, $2, $4::timestamptz + make_interval(secs => $3))
  ON CONFLICT (key_hash) DO UPDATE SET
    body_hash = CASE WHEN k.expires_at > $4 THEN k.body_hash ELSE excluded.body_hash END,
    answer = CASE WHEN k.expires_at > $4 THEN k.answer END,
    expires_at = greatest(k.expires_at, CASE WHEN k.expires_at > $4 THEN k.expires_at ELSE excluded.expires_at END)
  RETURNING k.body_hash, k.answer`;

/** What was asked for with an `Idempotency-Key`, and what was answered (contract §4). */
@Injectable()
export class IdempotencyStore {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Does work once for a key: whoever comes with the same one later, or at the same time, gets the first answer.
   * @param work in the transaction that remembers its answer; undefined is not remembered
   * @returns the answer, or 'other body'; undefined when the work gave none
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
