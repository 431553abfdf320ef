import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import request from 'supertest';
import { freePort } from '../support/free-port.js';
import { startTestService } from '../support/service.js';
import { beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { WEBHOOK_SECRET } from '../support/webhook-receiver.js';

const FILE = 'examples/admission/server.js';

/** `examples/admission` as a user runs it. */
it('the example of an admission service decides', async () => {
  const PORT = String(await freePort());
  const example = spawn(process.execPath, [FILE], {
    env: { PORT, ADMISSION_SECRET: WEBHOOK_SECRET },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(example.stdout, 'data'); // it listens
  const provider = await StubProvider.start();
  const service = await startTestService({
    ...provider.env('CORP'),
    ADMISSION_URL: `http://127.0.0.1:${PORT}`,
    ADMISSION_SECRET: WEBHOOK_SECRET,
  });
  const signIn = async (code: string): Promise<request.Response> => {
    const state = await beginSignIn(service.url, { provider: 'corp' });
    return request(service.url).post('/oauth2/token').send({ code, state });
  };
  try {
    const admitted = await signIn('42');
    expect(admitted.status).toBe(200);
    const { access_token } = admitted.body as Tokens;
    expect(claimsOf(access_token)).toMatchObject({ roles: ['editor'], claims: { plan: 'pro' } });
    const refused = await signIn('43');
    expect([refused.status, refused.body]).toMatchObject([403, { error: 'access_denied' }]);
    const forged = await fetch(`http://127.0.0.1:${PORT}`, { method: 'POST', body: '{"data":{}}' });
    expect(forged.status).toBe(400);
  } finally {
    await service.close();
    await provider.close();
    example.kill();
  }
  expect(readFileSync(FILE, 'utf8').trim().split('\n').length).toBeLessThanOrEqual(30);
});
