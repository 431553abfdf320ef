import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { KeyRing } from '../../src/token/keys/key-ring.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { dump, query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { useService } from '../support/use.js';

const CLIENT_SECRET = 'a client secret of the stub';
const SECRET_KEY = '5e'.repeat(32);

/** P5: no secret is in the log, even at level trace, and in the database only in its own column. */
describe('secrets', () => {
  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY, SECRET_KEY, LOG_LEVEL: 'trace' });

  it('are in no log and no table', async () => {
    const code = `code-${randomUUID()}`;
    provider.answerWith(200, { provider_user_id: 'ada' });
    const tokens = await signIn(service.url, code, { device_id: randomUUID() });
    const refreshed = await request(service.url).post('/oauth2/refresh').send(tokens).expect(200);
    const { access_token: second } = refreshed.body as { access_token: string };
    const secrets = [
      tokens.access_token,
      second,
      tokens.refresh_token,
      code,
      CLIENT_SECRET,
      SERVICE_KEY,
      SECRET_KEY,
    ];

    // Everything that can go wrong with them.
    for (const answer of [
      [400, { error: 'invalid_grant', error_description: code }],
      [500, `<html>${code}`],
      [200, { provider_user_id: 7, code }],
      [302, '', { Location: `http://127.0.0.1:1/?code=${code}` }],
    ] as const) {
      provider.answerWith(answer[0], answer[1], answer[2]);
      const state = await beginSignIn(service.url);
      secrets.push(state);
      await request(service.url).post('/oauth2/token').send({ code, state });
    }
    provider.answer = (_request, response) => response.destroy(); // axios' error carries the whole request
    const state = await beginSignIn(service.url);
    secrets.push(state);
    await request(service.url).post('/oauth2/token').send({ code, state }).expect(500);
    provider.reset();

    await request(service.url).get(`/oauth2/token?code=${code}&state=${state}`).expect(405);
    await request(service.url).post('/oauth2/token').type('json').send(`{"code":"${code}",`).expect(400);
    await request(service.url)
      .post('/oauth2/refresh')
      .send({ refresh_token: `${tokens.refresh_token}x` })
      .expect(401);
    await bearer(service.url, `${tokens.access_token}x`).get('/me').expect(401);
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    await bearer(service.url, SERVICE_KEY)
      .post('/oauth2/introspect', { token: tokens.refresh_token, token_type_hint: 'refresh_token' })
      .expect(200);
    await bearer(service.url, `${SERVICE_KEY}x`).post('/oauth2/introspect', { token: second }).expect(401);
    const socket = await SocketClient.connect(service.url, second);
    await socket.socket.emitWithAck('authenticate', { token: tokens.access_token });
    socket.close();
    await SocketClient.open(service.url, { token: `${second}x` }).refusal();
    await query(
      service.databaseUrl,
      'ALTER TABLE access_tokens ADD CONSTRAINT nothing CHECK (false) NOT VALID',
    );
    await request(service.url).post('/oauth2/refresh').send(tokens).expect(500); // PostgreSQL's error carries the row
    await query(service.databaseUrl, 'ALTER TABLE access_tokens DROP CONSTRAINT nothing');
    await request(service.url).post('/oauth2/revoke').send({ token: tokens.refresh_token }).expect(200);

    const log = service.log.join('');
    expect(log).toContain('nothing'); // it did log that error
    const { privateKey } = service.app.get(KeyRing).signer!;
    const { d } = privateKey.export({ format: 'jwk' });
    const der = privateKey.export({ format: 'der', type: 'pkcs8' });
    const forms = [
      ...secrets,
      d!,
      der.toString('hex'),
      der.toString('base64'),
      Buffer.from(d!, 'base64url').toString('hex'),
    ];
    const everything = await dump(service.databaseUrl, { refusals: true });
    const withoutAccessTokens = everything
      .split('\n')
      .filter((row) => !row.startsWith('access_tokens'))
      .join('\n');
    expect(everything).toContain(second);
    for (const secret of forms) {
      expect(log.includes(secret)).toBe(false); // not toContain: it would print the secret
      expect(withoutAccessTokens.includes(secret)).toBe(false);
      expect(withoutAccessTokens.includes(Buffer.from(secret).toString('hex'))).toBe(false);
    }
  });
});
