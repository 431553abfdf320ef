import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import request from 'supertest';
import { signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

/** `examples/cli sign-in --device`, on a server without a browser. */
describe('the example for the command line, on a server', () => {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-device-cli-'));

  const { provider, service } = useService({ PROVIDERS_MOCK_ENABLED: 'false', DEVICE_GRANT: 'push' });
  const ada = prepare(() => signIn(service.url, 'ada'));
  beforeAll(() => provider.signInAtOnce());
  afterAll(() => rmSync(home, { recursive: true }));

  /** Runs a sign-in; a person who sees the terminal decides. */
  async function run(approve: boolean) {
    const env = { ...process.env, LATCHKEY_URL: service.url, XDG_CONFIG_HOME: home, NODE_OPTIONS: '' };
    const child = spawn(process.execPath, ['examples/cli/cli.js', 'sign-in', '--device'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors = text(child.stderr);
    const closed = once(child, 'close');
    let printed = '';
    let isDecided = false;
    for await (const chunk of child.stdout) {
      printed += String(chunk);
      const code = /enter the code (\S+)/.exec(printed)?.[1];
      if (code === undefined || isDecided) continue;
      isDecided = true;
      await request(service.url)
        .post(`/me/device-requests/${code}`)
        .set('Authorization', `Bearer ${ada.access_token}`)
        .send({ approve })
        .expect(204);
    }
    await closed;
    return { printed, code: child.exitCode, errors: await errors };
  }

  it('shows a code and a number, and is signed in after a “yes”', async () => {
    const { printed, code, errors } = await run(true);
    expect([code, errors]).toEqual([0, '']);
    expect(printed).toContain(`Open ${service.url}/device on any device`);
    expect(printed).toMatch(/shows the number \d\d/);
    expect(printed).toMatch(/Signed in as Ada, [\da-f-]{36}\n$/);
  });

  it('ends after a “no”', async () => {
    expect(await run(false)).toMatchObject({ code: 1, errors: 'the sign-in was denied\n' });
  });
});
