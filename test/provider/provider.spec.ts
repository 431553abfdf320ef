import request from 'supertest';
import { query } from '../support/database.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until, watchLateness } from '../support/waiting.js';
import { useService } from '../support/use.js';

/** The default adapter and a scripted provider (spec §4.5.2, §7.3). */
describe('a provider of the contract', () => {
  const { provider, service } = useService({ REDIRECT_URIS: 'https://app.example/cb?a=1&b=%C3%A4' });
  beforeEach(() => provider.reset());

  async function exchange(code = 'ada'): Promise<request.Response> {
    const state = await beginSignIn(service.url);
    return request(service.url).post('/oauth2/token').send({ code, state });
  }

  async function rowsOfUsers(): Promise<unknown> {
    return query(service.databaseUrl, 'SELECT * FROM users ORDER BY user_id');
  }

  it('gets exactly the request of spec §4.5.2', async () => {
    await exchange('a code/with+signs&=ü');
    const [seen] = provider.requests;
    const pairs = Array.from({ length: seen!.rawHeaders.length / 2 }, (_, i) =>
      seen!.rawHeaders.slice(2 * i, 2 * i + 2),
    );
    const headers = new Map(pairs.map(([name, value]) => [name!.toLowerCase(), value]));
    expect([seen!.method, seen!.path]).toEqual(['POST', '/oauth2/token/exchange']);
    expect(headers.get('content-type')).toBe('application/x-www-form-urlencoded');
    expect(headers.get('accept')).toBe('application/json');
    expect([...new URLSearchParams(seen!.body)]).toEqual([
      ['client_id', 'latchkey'],
      ['client_secret', 'a client secret of the stub'],
      ['code', 'a code/with+signs&=ü'],
      ['redirect_uri', 'https://app.example/cb?a=1&b=%C3%A4'],
    ]);
  });

  it.each<[string, number, unknown, number, string]>([
    ['invalid_grant with another status', 500, { error: 'invalid_grant' }, 401, 'invalid_grant'],
    ['invalid_grant with 200', 200, { error: 'invalid_grant', provider_user_id: 'x' }, 401, 'invalid_grant'],
    ['invalid_client', 401, { error: 'invalid_client' }, 400, 'invalid_client'],
    ['unauthorized_client', 400, { error: 'unauthorized_client' }, 400, 'invalid_client'],
    ['invalid_request', 400, { error: 'invalid_request' }, 400, 'invalid_request'],
    ['server_error', 500, { error: 'server_error' }, 500, 'server_error'],
    ['an error of its own', 400, { error: 'teapot' }, 500, 'server_error'],
    ['an error that is not a string', 400, { error: 7 }, 500, 'server_error'],
    ['status 404 with HTML', 404, '<html>', 500, 'server_error'],
    ['status 201', 201, { provider_user_id: 'x' }, 500, 'server_error'],
    ['no provider_user_id', 200, { username: 'x' }, 500, 'server_error'],
    ['a number as provider_user_id', 200, { provider_user_id: 7 }, 500, 'server_error'],
    ['one of 256 characters', 200, { provider_user_id: 'x'.repeat(256) }, 500, 'server_error'],
    ['one with a lone surrogate', 200, '{"provider_user_id":"\\ud800"}', 500, 'server_error'],
    ['more than 64 KiB', 200, { provider_user_id: 'x', username: 'y'.repeat(70_000) }, 500, 'server_error'],
  ])('answers %s', async (_name, status, body, expected, error) => {
    const before = await rowsOfUsers();
    provider.answerWith(status, body);
    const response = await exchange();
    expect([response.status, response.body]).toEqual([
      expected,
      { error, error_description: expect.any(String) },
    ]);
    expect(response.text).not.toContain(provider.url);
    expect(await rowsOfUsers()).toEqual(before);
  });

  it('may send any content type, and a byte order mark', async () => {
    provider.answerWith(200, '\uFEFF{"provider_user_id":"any"}', { 'Content-Type': 'text/plain' });
    expect((await exchange()).status).toBe(200);
  });

  it('cannot redirect us, and the client secret, somewhere else (P12)', async () => {
    const elsewhere = await StubProvider.start();
    try {
      for (const status of [302, 307]) {
        provider.answerWith(status, '', { Location: `${elsewhere.url}/oauth2/token/exchange` });
        expect((await exchange()).body).toMatchObject({ error: 'server_error' });
      }
      provider.answerWith(200, { provider_user_id: 'any', avatar_url: `${elsewhere.url}/picture.png` });
      expect((await exchange()).status).toBe(200);
      expect(elsewhere.requests).toHaveLength(0);
    } finally {
      await elsewhere.close();
    }
  });

  it('that is slow has 5 s in all, even if it sends a byte now and then', async () => {
    provider.answer = (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(drip));
    };
    const [began, lateness] = [performance.now(), watchLateness()];
    expect((await exchange()).body).toMatchObject({ error: 'server_error' });
    const seconds = (performance.now() - began) / 1000;
    expect(seconds).toBeGreaterThan(4.9);
    expect(seconds).toBeLessThan(7 + lateness() / 100);
  });

  it('that does not answer delays no refresh, however many exchanges wait for it', async () => {
    const { refresh_token } = await signIn(service.url);
    provider.answer = () => undefined;
    // Again if this machine is so busy that an exchange ends before a refresh is answered.
    await until(async () => {
      const states = await Promise.all(Array.from({ length: 20 }, () => beginSignIn(service.url)));
      const hanging = states.map(async (state) =>
        request(service.url).post('/oauth2/token').send({ code: 'c', state }),
      );
      const all = { hang: true };
      void Promise.race(hanging).then(() => (all.hang = false));
      let refreshed = 0;
      for (; all.hang && refreshed < 20; refreshed += Number(all.hang))
        await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
      for (const { status } of await Promise.all(hanging)) expect(status).toBe(500);
      return refreshed > 0;
    });
  });
});
