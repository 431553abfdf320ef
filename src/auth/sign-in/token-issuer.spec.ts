import type { Settings } from '../../config/settings/settings.js';
import { parseIdentity } from '../../provider/identity/identity.js';
import type { SignIn } from './sign-in.js';
import { TokenIssuer } from './token-issuer.js';

/** On what somebody signs in (spec §2.4). */
describe('the user agent of a sign-in', () => {
  // Contract §3: a header is cut, never refused.
  it.each<[string, string | undefined, string | undefined, string | null]>([
    ['what the client says', 'App 1', 'Browser', 'App 1'],
    ['the header', undefined, 'Browser', 'Browser'],
    ['1024 characters of the header', undefined, 'x'.repeat(1025), 'x'.repeat(1024)],
    ['nothing, where the header is empty', undefined, '', null],
    ['nothing, where there is no header', undefined, undefined, null],
  ])('is %s', async (_what, user_agent, userAgentHeader, stored) => {
    const written: SignIn[] = [];
    const accessToken = { token: 't', jti: 'j', expiresAt: 0, expiresIn: 900 };
    const issuer = new TokenIssuer(
      { issue: () => accessToken } as never,
      { record: (signIn: SignIn) => Promise.resolve(void written.push(signIn)) } as never,
      { since: () => Promise.resolve(false) } as never,
      {} as never,
      { refreshTokenTtl: 60 } as Settings,
    );
    const identity = parseIdentity({ provider_user_id: 'ada' });
    await issuer.issue(
      { provider: 'corp', identity, asked: 0 },
      user_agent === undefined ? {} : { user_agent },
      { proof: undefined, userAgentHeader },
    );
    expect(written).toMatchObject([{ userAgent: stored, refreshTokenTtl: 60, accessToken }]);
  });
});
