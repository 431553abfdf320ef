import { isProofUsed } from './sign-in.store.js';

const failure = (code: string | undefined, constraint?: string): Error =>
  Object.assign(new Error('failed'), {
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint }),
  });

/** PostgreSQL's `unique_violation` (23505) of the key of the access tokens, and nothing else. */
describe('that a proof was used', () => {
  it.each<[string, unknown, boolean]>([
    ['the same token', failure('23505', 'access_tokens_pkey'), true],
    ['the same token on a shard', failure('23505', 'access_tokens_pkey_102008'), true],
    ['another row', failure('23505', 'refresh_tokens_pkey'), false],
    ['another row of a similar name', failure('23505', 'old_access_tokens_pkey'), false],
    ['no name', failure('23505'), false],
    ['another fault', failure('23503', 'access_tokens_pkey'), false],
    ['no code', failure(undefined, 'access_tokens_pkey'), false],
    ['no error', undefined, false],
  ])('%s', (_name, error, isUsed) => expect(isProofUsed(error)).toBe(isUsed));
});
