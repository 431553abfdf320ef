import { OAuthError } from '../../errors/oauth-error.js';
import { providerSettings } from '../../../test/support/provider-settings.js';
import { withoutSecrets } from '../adapters/oidc-error.js';
import { isAway } from './provider-away.js';
import { Provider } from '../provider.js';

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const round: { cause?: unknown } = {};
round.cause = round;

describe('whether a provider is away', () => {
  it.each<[string, unknown, boolean]>([
    ['a refused connection', refused, true],
    [
      'the same below others',
      new TypeError('fetch failed', { cause: new Error('x', { cause: refused }) }),
      true,
    ],
    [
      '… as it is logged of openid-client',
      withoutSecrets(new TypeError('fetch failed', { cause: refused })),
      true,
    ],
    ['its time limit', Object.assign(new Error('operation timed out'), { code: 'OAUTH_TIMEOUT' }), true],
    ['an answer that is no JSON', new Error('the provider answered with something that is not JSON'), false],
    ['a certificate', Object.assign(new Error('x'), { code: 'CERT_HAS_EXPIRED' }), false],
    ['a code that only begins like one', { code: 'ECONNREFUSED_BY_POLICY' }, false],
    ['a code that only ends like one', { code: 'NOT_ETIMEDOUT' }, false],
    ['a code that is no text', { code: ['ETIMEDOUT'] }, false],
    ['a cause that is null', { code: 'E', cause: null }, false],
    ['no error', undefined, false],
    ['a circle', round, false],
  ])('%s', (_name, error, expected) => {
    expect(isAway(error)).toBe(expected);
  });

  it('is, when it does not answer in time', async () => {
    const adapter = {
      authorizationUrl: () => new Promise<never>(() => undefined),
      exchange: () => Promise.reject(),
    };
    const slow = new Provider(providerSettings('slow'), adapter, 10);
    const error: unknown = await slow
      .authorizationUrl({ state: 's', redirectUri: 'r' })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(OAuthError);
    expect(isAway((error as OAuthError).cause)).toBe(true);
  });
});
