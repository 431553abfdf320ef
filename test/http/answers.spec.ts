import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import { PushService } from '../../src/realtime/push/push.service.js';
import { TokenInspector } from '../../src/token/access-tokens/token-inspector.js';
import { Channel } from '../support/channel.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { prepare } from '../support/use.js';

const TIMES = ['created_at', 'last_seen_at'];
const SEEN = ['user_agent', 'browser', 'os', 'address'];
const DEVICE = ['device_id', 'device_name', ...SEEN, ...TIMES, 'signed_in', 'online', 'current'];

/** The members of answers, in their order. */
describe('answers', () => {
  const channel = Channel.around();
  let device: string;
  beforeAll(() => {
    device = randomUUID();
  });
  const tokens = prepare(() => channel.signIn('ada', { device_id: device }));

  const asUser = () => bearer(channel.url, tokens.access_token);
  const introspect = (token: string, token_type_hint?: string) =>
    bearer(channel.url, SERVICE_KEY).post('/oauth2/introspect', { token, token_type_hint });
  const push = (body: object) => channel.push({ user_id: tokens.user_id, event: 'x', ...body });

  const CLAIMS = ['iat', 'exp', 'iss', 'aud', 'token_type'];
  const OF_ACCESS_TOKEN = ['active', 'sub', 'sid', 'device_id', 'jti', ...CLAIMS];
  const OF_REFRESH_TOKEN = ['active', 'sub', 'sid', 'device_id', ...CLAIMS];

  it.each<[string, string[], () => request.Test]>([
    [
      'GET /me',
      ['user_id', 'username', 'email', 'avatar_url', 'created_at', 'claims'],
      () => asUser().get('/me'),
    ],
    ['PATCH /devices/…', DEVICE, () => asUser().patch(`/devices/${device}`, { device_name: 'Phone' })],
    ['POST /push', ['id', 'offset', 'online'], () => push({})],
    ['POST /push that nobody keeps', ['id', 'offset', 'online'], () => push({ ttl: 0 })],
    ['introspection of an access token', OF_ACCESS_TOKEN, () => introspect(tokens.access_token)],
    [
      'introspection of a refresh token',
      OF_REFRESH_TOKEN,
      () => introspect(tokens.refresh_token, 'refresh_token'),
    ],
    ['introspection of anything else', ['active'], () => introspect('x')],
  ])('%s', async (_name, members, call) => {
    const { text, body } = await call();
    expect(Object.keys(body as object)).toEqual(members);
    expect(text).toBe(JSON.stringify(body));
  });

  it('GET /devices', async () => {
    const { text, body } = await asUser().get('/devices').expect(200);
    const { devices } = body as { devices: object[] };
    expect([Object.keys(body as object), ...devices.map(Object.keys)]).toEqual([['devices'], DEVICE]);
    expect(text).toBe(JSON.stringify(body));
  });

  it('a session without a device has no device_id', async () => {
    const { access_token } = await channel.signIn('ada');
    const { body } = await introspect(access_token).expect(200);
    expect(Object.keys(body as object)).toEqual(OF_ACCESS_TOKEN.filter((name) => name !== 'device_id'));
  });

  // These two answers are not made from entities; what entities have beyond their classes is in the tables above.
  it('a member that the class does not expose stays inside', async () => {
    const inspector = channel.service.app.get(TokenInspector);
    const inspected = await inspector.inspect(tokens.access_token);
    jest.spyOn(inspector, 'inspect').mockResolvedValueOnce({ ...inspected!, secret: 'x' } as never);
    const pushed = { id: randomUUID(), offset: 1, online: false };
    jest
      .spyOn(channel.service.app.get(PushService), 'push')
      .mockResolvedValueOnce({ ...pushed, secret: 'x' } as never);

    const { body } = await introspect(tokens.access_token).expect(200);
    expect(Object.keys(body as object)).toEqual(OF_ACCESS_TOKEN);
    expect((await push({}).expect(202)).body).toEqual(pushed);
  });
});
