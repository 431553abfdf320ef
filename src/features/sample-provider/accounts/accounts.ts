import { parsePasswordHash, unmatchableHash, type PasswordHash } from '../passwords/password-hash.js';

/** Account of the sample provider; field names as in the accounts file. */
export interface Account {
  /** Never changes, and is never given to another account (spec §2.5). */
  readonly provider_user_id: string;
  readonly login: string;
  /** `scrypt$N$r$p$salt$hash`, see password-hash.ts. */
  readonly password_hash: string;
  readonly username?: string;
  readonly email?: string;
  readonly avatar_url?: string;
  /** Sent as the claim `roles`. */
  readonly roles?: readonly string[];
}

export interface DemoAccount extends Account {
  readonly password: string;
}

/** Accounts with public passwords, never used in production. */
export const demoAccounts: readonly DemoAccount[] = [
  {
    provider_user_id: 'demo-ada',
    login: 'ada',
    password: 'analytical-engine',
    password_hash: 'scrypt$16384$8$5$uNv1-Yxv0Mn9icHRWoTg8Q$2VwDf32X7O6A45GbYOsFVFZeGrSJ_E3L3tl2fgTcOzQ',
    username: 'Ada Lovelace',
    email: 'ada@example.com',
    roles: ['latchkey-admin'],
  },
  {
    provider_user_id: 'demo-grace',
    login: 'grace',
    password: 'first-compiler',
    password_hash: 'scrypt$16384$8$5$H8a5JTenmxgHhlSMsY-M2A$tMVPijzANc__aDoxqTeiDu6MDkPwrpz4iiqDlA7sAr8',
    username: 'Grace Hopper',
    email: 'grace@example.com',
    roles: ['latchkey-support'],
  },
  {
    provider_user_id: 'demo-linus',
    login: 'linus',
    password: 'just-for-fun',
    password_hash: 'scrypt$16384$8$5$mTZRU1IUveIQ2DfDUlb3AA$BJlpVrx3_27_uiwnW2GcZ7AoIhGUwjY04Om4u6WLTVI',
    username: 'Linus Torvalds',
    email: 'linus@example.com',
  },
];

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
