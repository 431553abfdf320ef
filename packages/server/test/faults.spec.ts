import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, query } from '../../../test/support/database.js';
import { freePort } from '../../../test/support/free-port.js';
import {
  keysCommand,
  startServiceProcess,
  type ServiceProcess,
} from '../../../test/support/service-process.js';
import { signIn } from '../../../test/support/sign-in.js';
import { StubProvider } from '../../../test/support/stub-provider.js';
import { until } from '../../../test/support/waiting.js';
import { createVerifier, type LatchkeyError } from '../src/index.js';
import { SERVICE_KEY } from './support/fake-service.js';
import { use, useEach } from '../../../test/support/use.js';

const BOUND_MS = 1000; // docs/ended-sessions.md#session-revocation-feed
const PUBLIC_URL = 'http://latchkey.test';

/** An API while the real service fails, with `introspect`; away.spec.ts has the faults of the network. */
describe('under faults', () => {
  let env: Record<string, string>;
  let service: ServiceProcess;
  afterAll(() => service?.end('SIGKILL'));

  const provider = use(() => StubProvider.start());
  const database = use(() => createDatabase());
  beforeAll(async () => {
    env = {
      ...provider.env(),
      DATABASE_URL: database.url,
      PUBLIC_URL,
      SERVICE_KEYS: SERVICE_KEY,
      PORT: String(await freePort()),
    };
    service = await startServiceProcess(env);
  });
  const verifier = useEach(() =>
    createVerifier({
      issuer: PUBLIC_URL,
      url: service.url,
      serviceKey: SERVICE_KEY,
      onWarning: () => undefined,
    }),
  );
  beforeEach(() => until(() => verifier.isNotified));

  const newToken = async (): Promise<string> => (await signIn(service.url)).access_token;
  const statusOf = (token: string): Promise<number> =>
    verifier.verify(token).then(
      () => 200,
      ({ status }: LatchkeyError) => status,
    );
  /** All answers to a token until one after `isOver`, and when it was last accepted. */
  async function answersUntil(token: string, isOver: () => boolean) {
    const seen = new Set<number>();
    let acceptedAt = -Infinity;
    for (;;) {
      const isLast = isOver();
      const status = await statusOf(token);
      seen.add(status);
      if (status === 200) acceptedAt = performance.now();
      if (isLast) return { seen: [...seen], acceptedAt };
      await delay(20);
    }
  }

  it('the service is killed just after a sign-out, and started', async () => {
    const [living, ended] = [await newToken(), await newToken()];
    let isOver = false;
    const headers = { Authorization: `Bearer ${ended}` };
    const { status } = await fetch(`${service.url}/sign-out`, { method: 'POST', headers });
    const signedOutAt = performance.now();
    expect(status).toBe(204);
    const [ofLiving, ofEnded] = [living, ended].map((token) => answersUntil(token, () => isOver));
    await service.end('SIGKILL');
    await until(async () => (await statusOf(living)) === 503);
    service = await startServiceProcess(env);
    // Not at once: while the machine pauses, the answer is 503.
    await until(async () => (await statusOf(living)) === 200 && (await statusOf(ended)) === 401);
    isOver = true;
    expect((await ofLiving)!.seen).not.toContain(401);
    const { acceptedAt } = (await ofEnded)!;
    expect(acceptedAt - signedOutAt).toBeLessThan(BOUND_MS);
  });

  it('the keys are rotated, and one is revoked', async () => {
    const kidOf = (token: string): string =>
      (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;
    const old = await newToken();
    await keysCommand(env, 'rotate');
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE active_at > now()');
    let token = '';
    await until(async () => kidOf((token = await newToken())) !== kidOf(old));
    expect([await statusOf(token), await statusOf(old)]).toEqual([200, 200]);

    await keysCommand(env, 'revoke', kidOf(old));
    const revokedAt = performance.now();
    await until(async () => (await statusOf(old)) === 401);
    expect(performance.now() - revokedAt).toBeLessThan(BOUND_MS);
    expect(await statusOf(token)).toBe(200);
  });
});
