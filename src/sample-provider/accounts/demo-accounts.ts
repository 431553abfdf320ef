import type { DemoAccount } from './accounts.js';

/** Accounts with public passwords, never used in production (contract §2). */
export const demoAccounts: readonly DemoAccount[] = [
  {
    provider_user_id: 'demo-ada',
    login: 'ada',
    password: 'analytical-engine',
    password_hash: 'scrypt$16384$8$5$uNv1-Yxv0Mn9icHRWoTg8Q$2VwDf32X7O6A45GbYOsFVFZeGrSJ_E3L3tl2fgTcOzQ',
    username: 'Ada Lovelace',
    email: 'ada@example.com',
    claims: { roles: ['latchkey-admin'] },
  },
  {
    provider_user_id: 'demo-grace',
    login: 'grace',
    password: 'first-compiler',
    password_hash: 'scrypt$16384$8$5$H8a5JTenmxgHhlSMsY-M2A$tMVPijzANc__aDoxqTeiDu6MDkPwrpz4iiqDlA7sAr8',
    username: 'Grace Hopper',
    email: 'grace@example.com',
    claims: { roles: ['latchkey-support'] },
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
