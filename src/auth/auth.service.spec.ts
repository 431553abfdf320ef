import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { ErrorForClient } from './clients/client-request.js';
import { SignInRefusals } from './auth.service.js';

const client = { redirectUri: 'https://app.example/cb', state: null };

describe('a sign-in that fails', () => {
  const told: unknown[] = [];
  const events = new Events();
  events.on('sign_in.refused', (refusal) => void told.push(refusal));
  const refusals = new SignInRefusals(events);
  beforeEach(() => void told.splice(0));

  it.each<[string, unknown, string]>([
    ['an error of ours', new OAuthError('invalid_grant', 'x'), 'invalid_grant'],
    [
      'an error for a client',
      new ErrorForClient(client, 'https://id.example', 'access_denied'),
      'access_denied',
    ],
    ['any other', Object.assign(new Error('x'), { error: 'invalid_grant' }), 'server_error'],
  ])('is told with the code of %s, and fails as it did', async (_name, thrown, error) => {
    const work = refusals.report((attempt) => {
      attempt.provider = 'acme';
      return Promise.reject(thrown);
    });
    await expect(work).rejects.toBe(thrown);
    expect(told).toEqual([{ error, provider: 'acme' }]);
  });

  it('without a provider is told without', async () => {
    await refusals.report(() => Promise.reject(new Error('x'))).catch(() => undefined);
    expect(told).toEqual([{ error: 'server_error' }]);
  });

  it('not is not told', async () => {
    expect(await refusals.report(() => Promise.resolve(7))).toBe(7);
    expect(told).toEqual([]);
  });
});
