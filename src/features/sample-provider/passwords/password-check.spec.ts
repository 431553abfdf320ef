import { Accounts } from '../accounts/accounts.js';
import { PasswordCheck } from './password-check.js';

const SALT = 'A'.repeat(22);
/** Hash of "right" at the lowest cost. */
const HASH = 'Mt8LFPQ7uNoloOA5RozApncx_jmFGcO00E7EQymS--g';
const ada = { provider_user_id: '1', login: 'ada', password_hash: `scrypt$2$1$1$${SALT}$${HASH}` };

/**
 * Makes concurrent attempts from several networks.
 * @returns how many were accepted, and how many must wait
 */
async function attempts(check: PasswordCheck, networks: number, each: number): Promise<[number, number]> {
  const results = await Promise.all(
    Array.from({ length: networks * each }, (_, index) =>
      check.verify({ login: 'ada', network: String(index % networks) }, 'right'),
    ),
  );
  const count = (kind: string): number => results.filter((result) => result.kind === kind).length;
  return [count('accepted'), count('wait')];
}

describe('the password check', () => {
  it('verifies two at a time, and lets ten of a network and a hundred in total wait', async () => {
    const check = new PasswordCheck(new Accounts([ada]));
    expect(await attempts(check, 1, 20)).toEqual([12, 8]);
    expect(await attempts(check, 12, 10)).toEqual([102, 18]);
    expect(await attempts(check, 1, 1)).toEqual([1, 0]);
  });

  it('continues after an error', async () => {
    const accounts = new Accounts([ada]);
    const hashOf = accounts.hashOf.bind(accounts);
    accounts.hashOf = () => {
      throw new Error('no hash');
    };
    const check = new PasswordCheck(accounts);
    for (let index = 0; index < 3; index++)
      await expect(check.verify({ login: 'ada', network: 'a' }, 'right')).rejects.toThrow('no hash');
    accounts.hashOf = hashOf;
    expect(await check.verify({ login: 'ada', network: 'a' }, 'right')).toMatchObject({ kind: 'accepted' });
  });
});
