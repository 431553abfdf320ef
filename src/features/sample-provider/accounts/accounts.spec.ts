import { Accounts } from './accounts.js';

const SALT = 'A'.repeat(22);
const HASH = 'A'.repeat(43);
const ada = { provider_user_id: '1', login: 'ada', password_hash: `scrypt$1024$4$2$${SALT}$${HASH}` };
const accounts = new Accounts([ada]);

describe('accounts', () => {
  it('are found by login and by id, exactly', () => {
    expect(accounts.withLogin('ada')).toBe(ada);
    expect(accounts.withId('1')).toBe(ada);
    for (const other of ['Ada', 'ada ', '1', '__proto__']) expect(accounts.withLogin(other)).toBeUndefined();
  });

  it('have a hash of the same cost for an unknown login, and always the same one', () => {
    const nobodys = accounts.hashOf('nobody');
    expect(nobodys).toMatchObject({ N: 1024, r: 4, p: 2 });
    expect(nobodys.hash).not.toEqual(accounts.hashOf('ada').hash);
    expect(accounts.hashOf('somebody else')).toBe(nobodys);
  });
});
