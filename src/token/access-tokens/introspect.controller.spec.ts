import { IntrospectController } from './introspect.controller.js';
import type { InspectedToken, TokenInspector } from './token-inspector.js';

const times = {
  iat: 1_700_000_000,
  exp: 1_700_003_600,
  iss: 'https://id.example',
  aud: 'https://id.example',
};
const session = { userId: 'u', sessionId: 's', deviceId: 'd' };
const access: InspectedToken = { session, kind: 'Bearer', jti: 'j', ...times };
const refresh: InspectedToken = { session, kind: 'refresh_token', ...times };
const common = { active: true, sub: 'u', sid: 's', device_id: 'd', ...times };
const saidOfAccess = { ...common, jti: 'j', token_type: 'Bearer' };
const saidOfRefresh = { ...common, token_type: 'refresh_token' };
const inactive = { active: false };

/** RFC 7662; contract §4. A refresh token must never give access to a caller that checks `active` only. */
describe('introspection', () => {
  const introspect = async (found: InspectedToken | undefined, hint?: string): Promise<unknown> => {
    const tokens: Pick<TokenInspector, 'inspect'> = {
      inspect: (token) => Promise.resolve(token === 't' ? found : undefined),
    };
    const dto = { token: 't', ...(hint !== undefined && { token_type_hint: hint }) };
    const said = await new IntrospectController(tokens as TokenInspector).introspect(dto);
    return JSON.parse(JSON.stringify(said)) as unknown;
  };

  it.each<[string, InspectedToken | undefined, hint: string | undefined, answer: object]>([
    ['no token', undefined, undefined, inactive],
    ['no token, though a refresh token is expected', undefined, 'refresh_token', inactive],
    ['an access token', access, undefined, saidOfAccess],
    ['an access token, whatever is expected', access, 'refresh_token', saidOfAccess],
    ['an access token that is expected', access, 'access_token', saidOfAccess],
    ['a refresh token', refresh, undefined, inactive],
    ['a refresh token where an access token is expected', refresh, 'access_token', inactive],
    ['a refresh token with a hint that means nothing', refresh, '', inactive],
    ['a refresh token that is expected', refresh, 'refresh_token', saidOfRefresh],
  ])('%s', async (_name, found, hint, answer) => {
    expect(await introspect(found, hint)).toEqual(answer);
  });

  it('says nothing of a device of a session that has none', async () => {
    const { device_id: _, ...without } = saidOfAccess;
    const found = await introspect({ ...access, session: { ...session, deviceId: null } });
    expect(found).toEqual(without);
  });
});
