import { parsePasswordHash, unmatchableHash, type PasswordHash } from '../passwords/password-hash.js';

/** Somebody who can sign in at the sample provider; field names as in the accounts file (contract §2). */
export interface Account {
  /** Never changes, and is never given to another account (spec §2.5). */
  readonly provider_user_id: string;
  readonly login: string;
  /** `scrypt$N$r$p$salt$hash`, see password-hash.ts. */
  readonly password_hash: string;
  readonly username?: string;
  readonly email?: string;
  readonly avatar_url?: string;
}

/** An account whose password may be shown to everybody. */
export interface DemoAccount extends Account {
  readonly password: string;
}

/** All accounts of the sample provider; at least one, each checked. */
export class Accounts {
  private readonly byLogin: ReadonlyMap<string, Account>;
  private readonly byId: ReadonlyMap<string, Account>;
  private readonly nobodysHash: PasswordHash;

  constructor(
    accounts: readonly Account[],
    /** Those to show on the login page, with their passwords. */
    readonly demo: readonly DemoAccount[] = [],
  ) {
    this.byLogin = new Map(accounts.map((account) => [account.login, account]));
    this.byId = new Map(accounts.map((account) => [account.provider_user_id, account]));
    this.nobodysHash = unmatchableHash(parsePasswordHash(accounts[0]!.password_hash)!);
  }

  withLogin(login: string): Account | undefined {
    return this.byLogin.get(login);
  }

  withId(providerUserId: string): Account | undefined {
    return this.byId.get(providerUserId);
  }

  /** The hash to verify a password against. Without such an account, no password matches it, but verifying costs the same. */
  hashOf(login: string): PasswordHash {
    const account = this.byLogin.get(login);
    return (account && parsePasswordHash(account.password_hash)) ?? this.nobodysHash;
  }
}
