import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
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

/** Which accounts a provider has disabled. */
@Injectable()
export class AccountStates {
  constructor(@InjectRepository(SignalAccount) private readonly accounts: Repository<SignalAccount>) {}

  /** @param time of the event: seconds since the epoch */
  async save(manager: EntityManager, subject: Buffer, disabled: boolean, time: number): Promise<void> {
    await manager.query(SAVE, [subject, disabled, time]);
  }

  /** @returns since when an account is disabled: milliseconds since the epoch; undefined: it is not */
  async disabledSince(subject: Buffer): Promise<number | undefined> {
    const select = { subject: true, changedAt: true } as const;
    const account = await this.accounts.findOne({ select, where: { subject, disabled: true } });
    return account?.changedAt.getTime();
  }

  /** Whether one of some accounts is disabled. */
  areDisabled(manager: EntityManager, subjects: readonly Buffer[]): Promise<boolean> {
    return manager.existsBy(SignalAccount, { subject: In(subjects), disabled: true });
  }

  /** Permits sign-ins again, whatever an older event says. @returns whether an account was disabled */
  async permit(manager: EntityManager, subjects: readonly Buffer[]): Promise<boolean> {
    const change = {
      disabled: false,
      changedAt: () => 'now()',
      expiresAt: () => `now() + interval '${REMEMBERED_DAYS} days'`,
    };
    const { affected } = await manager.update(
      SignalAccount,
      { subject: In(subjects), disabled: true },
      change,
    );
    return affected! > 0;
  }
}
