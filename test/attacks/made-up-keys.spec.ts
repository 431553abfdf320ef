import { connect } from 'node:net';
import { once } from 'node:events';
import request from 'supertest';
import { caep, push, Transmitter } from '../provider-events/transmitter.js';
import { Endings } from '../support/endings.js';
import { makeLogoutToken } from '../support/forged-tokens.js';
import { startTestService } from '../support/service.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { useEach } from '../support/use.js';

const LIMIT = 20;

/** Tokens of unknown keys count as bad tokens, and cannot keep a provider out. */
describe('tokens with a made-up key', () => {
  const endings = new Endings();
  const made = makeSigningKey('made-up');
  afterEach(() => endings.run());
  const transmitter = useEach(() => Transmitter.start());
  const limits = { RATE_LIMIT: 'on', RATE_LIMIT_BAD_TOKEN: String(LIMIT), TRUST_PROXY: 'loopback' };
  const service = useEach(() => startTestService({ ...transmitter.env(), ...limits }));

  const set = (): string => {
    const sub_id = transmitter.subject('nobody');
    return transmitter.set(caep('session-revoked'), {}, { sub_id });
  };
  const forged = (token: string): string => reissue(token, made, {}, { kid: 'made-up' });
  const logout = (): request.Test => {
    const logout_token = forged(makeLogoutToken(made, { iss: transmitter.url, sub: 'nobody' }));
    return request(service.url).post('/providers/corp/backchannel-logout').send({ logout_token });
  };
  const revoke = (): request.Test =>
    request(service.url)
      .post('/providers/corp/global-token-revocation')
      .set('Authorization', `Bearer ${forged(set())}`);

  it.each<[string, () => PromiseLike<request.Response>]>([
    ['security events', () => push(service, forged(set()))],
    ['logout tokens', logout],
    ['global revocations', revoke],
  ])('as %s are limited by address; the provider is heard from there, too', async (_, attack) => {
    const statuses: number[] = [];
    for (let i = 0; i < LIMIT + 5; i++) statuses.push((await attack()).status);
    expect(statuses.slice(0, LIMIT).every((status) => [400, 401, 503].includes(status))).toBe(true);
    expect(statuses.slice(-4)).toEqual([429, 429, 429, 429]);
    await push(service, set()).expect(202);
    await push(service, set()).set('X-Forwarded-For', '203.0.113.7').expect(202);
  });

  it('beyond the limit, a large body is refused before it arrives', async () => {
    for (let i = 0; i < LIMIT + 2; i++) await push(service, forged(set()));
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    endings.after(socket, (one) => one.destroy());
    const head = ['POST /providers/corp/signals HTTP/1.1', 'Host: id.example', 'Content-Length: 60000'];
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/secevent+jwt\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 429 /);
  });
});
