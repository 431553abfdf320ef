import type { AuditRefusals, Refusal } from '../../audit/audit-refusals.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { ErrorForClient } from '../clients/client-request.js';
import { SignInRefusals } from './sign-in-refusals.js';

const client = { redirectUri: 'https://app.example/cb', state: null };
const forClient = (options: object): ErrorForClient =>
  new ErrorForClient(client, 'https://id.example', 'server_error', options);
const ours = new OAuthError('invalid_grant', 'what the client reads', { reason: 'what the provider said' });
const origin = { address: null, userAgent: null, requestId: null, actor: { type: 'user' } } as const;

describe('a sign-in that fails', () => {
  const recorded: Refusal[] = [];
  const audit: Pick<AuditRefusals, 'refused'> = { refused: (refusal) => void recorded.push(refusal) };
  const refusals = new SignInRefusals(audit as AuditRefusals);
  beforeEach(() => void recorded.splice(0));

  it.each<[string, unknown, error: string, reason: string | undefined]>([
    ['an error of ours', new OAuthError('invalid_grant', 'used before'), 'invalid_grant', 'used before'],
    ['an error with words of the provider', ours, 'invalid_grant', 'what the provider said'],
    ['an error for a client', forClient({ description: 'no PKCE' }), 'server_error', 'no PKCE'],
    [
      'an error for a client with a cause',
      forClient({ cause: ours }),
      'server_error',
      'what the provider said',
    ],
    ['an error for a client with a reason', forClient({ cause: ours, reason: 'r' }), 'server_error', 'r'],
    [
      'an error for a client with an unknown cause',
      forClient({ cause: new Error('x') }),
      'server_error',
      undefined,
    ],
    ['any other', Object.assign(new Error('x'), { error: 'no' }), 'server_error', 'something went wrong'],
  ])('is recorded with code and reason of %s, and fails as it did', async (_name, thrown, error, reason) => {
    const step = refusals.watch({ origin, provider: 'acme' }, () => Promise.reject(thrown));
    await expect(step).rejects.toBe(thrown);
    expect(recorded).toEqual([{ event: 'sign_in_refused', error, reason, origin, provider: 'acme' }]);
  });

  it('not is not recorded', async () => {
    expect(await refusals.watch({ origin }, () => Promise.resolve(7))).toBe(7);
    expect(recorded).toEqual([]);
  });
});
