import { parsePasswordHash, unmatchableHash, type PasswordHash } from '../passwords/password-hash.js';

/** Account of the sample provider; field names as in the accounts file (contract §2). */
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

export interface DemoAccount extends Account {
  readonly password: string;
  /** Roles on the administration page (contract §9). */
  readonly claims?: { readonly roles: readonly string[] };
}

/** All accounts of the sample provider, validated; at least one. */
export class Accounts {
  private readonly byLogin: ReadonlyMap<string, Account>;
  private readonly byId: ReadonlyMap<string, Account>;
  private readonly unmatchable: PasswordHash;

  constructor(
    accounts: readonly Account[],
    readonly demo: readonly DemoAccount[] = [],
  ) {
    this.byLogin = new Map(accounts.map((account) => [account.login, account]));
    this.byId = new Map(accounts.map((account) => [account.provider_user_id, account]));
    this.unmatchable = unmatchableHash(parsePasswordHash(accounts[0]!.password_hash)!);
  }

  withLogin(login: string): Account | undefined {
    return this.byLogin.get(login);
  }

  withId(providerUserId: string): Account | undefined {
    return this.byId.get(providerUserId);
  }

  /** Returns the hash of an account; for an unknown login, a hash of equal cost that no password matches. */
  hashOf(login: string): PasswordHash {
    const account = this.byLogin.get(login);
    return (account && parsePasswordHash(account.password_hash)) ?? this.unmatchable;
  }
}
