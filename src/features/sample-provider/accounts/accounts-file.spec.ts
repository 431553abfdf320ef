import { parseAccounts, readAccountsFile } from './accounts-file.js';

const VARIABLE = 'providers.mock.accounts';
const HASH = `scrypt$16384$8$5$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const ada = { provider_user_id: '1', login: 'ada', password_hash: HASH };
const grace = { provider_user_id: '2', login: 'grace', password_hash: HASH };

describe('the accounts file', () => {
  it('holds accounts', () => {
    const profile = { username: 'Ada', email: 'a@example.com', avatar_url: 'https://img.example/a' };
    const full = { ...ada, ...profile, roles: ['latchkey-admin', 'editor'] };
    expect(parseAccounts(JSON.stringify([full, grace]), VARIABLE)).toEqual([full, grace]);
  });

  // Node 20: `URL.canParse` forgets about letters like ä once it was asked so often
  // (src/platform/config/urls/urls.ts).
  it('holds thousands of accounts, whose pictures are at hosts with any letters', () => {
    const avatar_url = 'https://exämple.org/a';
    const one = (i: number): object => ({ ...ada, provider_user_id: `${i}`, login: `${i}`, avatar_url });
    const all = Array.from({ length: 4000 }, (_, i) => one(i));
    for (let i = 0; i < 2; i++) expect(parseAccounts(JSON.stringify(all), VARIABLE)).toEqual(all);
  });

  it.each([
    ['not JSON', `[{"password_hash": "${HASH}" oops`, ['the file is not JSON']],
    ['an object', '{}', ['the file must hold a JSON array of at least one account']],
    ['null in the list', [null], ['entry 1, which is not an object']],
    ['missing fields', [ada, {}], ['entry 2, provider_user_id', 'entry 2, login', 'entry 2, password_hash']],
    ['a plain password', [{ ...ada, password_hash: 'hunter2' }], ['entry 1, password_hash']],
    ['a null name', [{ ...ada, username: null }], ['entry 1, username']],
    ['a picture that is a script', [{ ...ada, avatar_url: 'javascript:1' }], ['entry 1, avatar_url']],
    ['a role alone', [{ ...ada, roles: 'admin' }], ['entry 1, roles']],
    ['a role that is no text', [{ ...ada, roles: ['admin', 1] }], ['entry 1, roles']],
    ['an empty role', [{ ...ada, roles: [''] }], ['entry 1, roles']],
    ['too many roles', [{ ...ada, roles: Array.from({ length: 51 }, String) }], ['entry 1, roles']],
    ['a misspelt field', [{ ...ada, user_name: 'Ada' }], ['entry 1, which has fields other than']],
    ['a login twice', [ada, { ...grace, login: 'ada' }], ['entry 2, login: an earlier entry has the same']],
    ['an id twice', [ada, { ...grace, provider_user_id: '1' }], ['entry 2, provider_user_id: an earlier']],
  ])('is refused with %s: entry and field are named, and no value', (_name, content, faults) => {
    const json = typeof content === 'string' ? content : JSON.stringify(content);
    const message = messageOf(() => parseAccounts(json, VARIABLE));
    const lines = message.split('\n').slice(1);
    expect(lines).toHaveLength(faults.length);
    faults.forEach((fault, index) => expect(lines[index]).toContain(`${VARIABLE}: ${fault}`));
    expect(message).not.toContain('hunter2');
    expect(message).not.toContain(HASH);
  });

  it('is refused when it cannot be read', () => {
    const file = { path: '/nowhere/accounts.json', variable: VARIABLE };
    expect(messageOf(() => readAccountsFile(file))).toContain(`${VARIABLE} cannot be read (ENOENT). Use `);
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return 'nothing was thrown';
}
