import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
import { hasBegunSince } from '../../../token/sessions/session.store.js';
import { SignalAccount } from './signal-account.entity.js';

/** Days for which an older event may arrive, and a token is known as used. */
export const REMEMBERED_DAYS = 8;

// Raw, since atomic: of concurrent events the latest holds, of two at one time the refusal.
const SAVE = `
  INSERT INTO signal_accounts AS present (subject, disabled, changed_at, expires_at)
  VALUES ($1, $2, to_timestamp($3), CASE WHEN $2 THEN 'infinity' ELSE now() + interval '${REMEMBERED_DAYS} days' END)
  ON CONFLICT (subject) DO UPDATE
    SET disabled = excluded.disabled, changed_at = excluded.changed_at, expires_at = excluded.expires_at
  WHERE present.changed_at < excluded.changed_at
    OR present.changed_at = excluded.changed_at AND excluded.disabled`;

// Raw, likewise.
const BEGIN_CLAIMS = `
  INSERT INTO signal_accounts AS present (subject, disabled, changed_at, claims_at, expires_at)
  VALUES ($1, false, '-infinity', $2, now() + interval '${REMEMBERED_DAYS} days')
  ON CONFLICT (subject) DO UPDATE SET claims_at = excluded.claims_at,
    expires_at = greatest(present.expires_at, excluded.expires_at)
  WHERE present.claims_at IS NULL OR present.claims_at <= excluded.claims_at
  RETURNING subject`;

/** Which accounts a provider has disabled. */
@Injectable()
export class AccountStates {
  constructor(@InjectRepository(SignalAccount) private readonly accounts: Repository<SignalAccount>) {}

  /** @param time of the event: seconds since the epoch */
  async save(manager: EntityManager, subject: Buffer, disabled: boolean, time: number): Promise<void> {
    await manager.query(SAVE, [subject, disabled, time]);
  }

  /**
   * Begins a change of the claims of a user of the account. Older ones than the last change, or than a
   * sign-in, have no effect.
   * @returns whether it is the latest
   */
  async beginClaims(manager: EntityManager, userId: string, subject: Buffer, at: Date): Promise<boolean> {
    const endOfSecond = new Date(at.getTime() + 1000); // times of events are whole seconds
    if (await hasBegunSince(manager, userId, endOfSecond)) return false;
    return (await manager.query<object[]>(BEGIN_CLAIMS, [subject, at])).length > 0;
  }

  /** @returns since when an account is disabled: milliseconds since the epoch; undefined: it is not */
  async disabledSince(subject: Buffer): Promise<number | undefined> {
    const select = { subject: true, changedAt: true } as const;
    const account = await this.accounts.findOne({ select, where: { subject, disabled: true } });
    return account?.changedAt.getTime();
  }

  /** Keeps the disabled accounts of a user who is removed. @returns whether there are any */
  async keepDisabled(manager: EntityManager, userId: string, subjects: readonly Buffer[]): Promise<boolean> {
    const { affected } = await manager.update(
      SignalAccount,
      { subject: In(subjects), disabled: true },
      { userId },
    );
    return affected! > 0;
  }

  /** Permits sign-ins again, whatever an older event says. @returns whether an account was disabled */
  async permit(manager: EntityManager, userId: string, subjects: readonly Buffer[]): Promise<boolean> {
    const change = {
      disabled: false,
      userId: null,
      changedAt: () => 'now()',
      expiresAt: () => `now() + interval '${REMEMBERED_DAYS} days'`,
    };
    const { affected } = await manager.update(
      SignalAccount,
      [
        { subject: In(subjects), disabled: true },
        { userId, disabled: true },
      ],
      change,
    );
    return affected! > 0;
  }
}
