import { jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { TcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/waiting.js';
import { createVerifier, type LatchkeyError, type Verifier, type VerifierOptions } from '../src/index.js';
import { ended, FakeService, SERVICE_KEY } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

/** Verification while sign-outs are received, and while they are not (docs/ended-sessions.md#a-reader). */
describe('with a service key', () => {
  let verifiers: Verifier[];
  let warnings: string[];
  afterEach(() => {
    for (const verifier of verifiers) verifier.close();
  });

  const service = useEach(() => FakeService.start());
  beforeEach(() => {
    verifiers = [];
    warnings = [];
  });

  function create(options: Partial<VerifierOptions> = {}): Verifier {
    const onWarning = (message: string): void => void warnings.push(message);
    const verifier = createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY, onWarning, ...options });
    verifiers.push(verifier);
    return verifier;
  }
  async function createFresh(options: Partial<VerifierOptions> = {}): Promise<Verifier> {
    const verifier = create(options);
    await until(() => verifier.isNotified);
    return verifier;
  }
  const statusOf = (verifier: Verifier, token: string) =>
    verifier.verify(token).then(
      () => 200,
      (error: LatchkeyError) => error.status,
    );

  describe('while sign-outs are received', () => {
    it('refuses the tokens of ended sessions, those of the past too, and asks nothing', async () => {
      const [past, now, other] = [randomUUID(), randomUUID(), randomUUID()];
      service.past = ended(past);
      const verifier = await createFresh();
      const tokenOf = new Map<string, string>();
      for (const sid of [past, now, other]) tokenOf.set(sid, await service.token({ sid }));
      expect(await statusOf(verifier, tokenOf.get(past)!)).toBe(401);
      expect(await statusOf(verifier, tokenOf.get(now)!)).toBe(200);
      service.tell(now);
      await until(async () => (await statusOf(verifier, tokenOf.get(now)!)) === 401);
      expect(await statusOf(verifier, tokenOf.get(other)!)).toBe(200);
      expect(service.count('/oauth2/introspect')).toBe(0);
    });

    it('refuses one that ends while its signature is being verified', async () => {
      const sid = randomUUID();
      const verifier = await createFresh();
      const { jwks } = service;
      service.jwks = (...call) => {
        service.tell(sid);
        setTimeout(() => jwks(...call), 100); // the verifier waits for the key
      };
      expect(await statusOf(verifier, await service.token({ sid }))).toBe(401);
      expect(await statusOf(verifier, await service.token())).toBe(200);
    });

    it('refuses the tokens of a revoked key, even if a stale answer still has it', async () => {
      const verifier = await createFresh();
      const token = await service.token();
      expect(await statusOf(verifier, token)).toBe(200);
      service.say('event: key_revoked\ndata: {"kid":"k1"}\n\n');
      await until(async () => (await statusOf(verifier, token)) === 401);
      await service.addKey('k2');
      const next = await service.token({ kid: 'k2' });
      await until(async () => (await statusOf(verifier, next)) === 200); // fetches both; 503 within a second
      expect(await statusOf(verifier, token)).toBe(401);
    });

    it('resumes at the cursor after a broken connection, and keeps its sessions', async () => {
      const sid = randomUUID();
      service.past = ended(sid);
      const verifier = await createFresh();
      await until(() => service.streams.size === 1);
      service.say('id: c2\n\n');
      service.talks = false;
      await delay(50);
      service.talks = true;
      service.past = '';
      for (const stream of service.streams) stream.end();
      await until(() => service.cursors.length === 2 && verifier.isNotified);
      expect(service.cursors[0]).toBe('');
      expect(service.cursors[1]).toMatch(/^c[12]$/);
      expect(await statusOf(verifier, await service.token({ sid }))).toBe(401);
      expect(warnings).toEqual([]); // one broken connection is no outage
    });

    it.each([
      ['an event that cannot be read', 'event: ended\ndata: {"session_id":7}\n\n'],
      ['a time that is none', 'event: ended\ndata: {"session_id":"s","until":"soon"}\n\n'],
      ['a key without a name', 'event: key_revoked\ndata: {}\n\n'],
    ])('counts as away after %s: it may have missed a sign-out', async (_name, bytes) => {
      const verifier = await createFresh();
      service.say(bytes);
      await until(() => service.cursors.length === 2); // although it speaks on
      await until(() => verifier.isNotified);
    });

    it('reads the whole feed again when the clock is set back: removed sessions have valid tokens again', async () => {
      const [now, sid] = [Date.now(), randomUUID()];
      service.past = ended(sid, now - 360_000);
      const verifier = await createFresh();
      expect(await statusOf(verifier, await service.token({ sid }))).toBe(200); // its tokens have expired long ago
      const clock = jest.spyOn(Date, 'now').mockReturnValue(now - 600_000);
      try {
        await until(() => service.cursors.length === 2 && verifier.isNotified);
        expect(service.cursors[1]).toBe('');
        expect(await statusOf(verifier, await service.token({ sid }))).toBe(401);
      } finally {
        clock.mockRestore();
      }
    });
  });

  describe('while sign-outs are not received', () => {
    const inactive: FakeService['introspect'] = (_, response) => response.end('{"active":false}');
    const away = (options: Partial<VerifierOptions> = {}): Verifier => {
      service.talks = false; // connected, but without `ready`
      return create(options);
    };

    it('introspects each token once a second; concurrent calls share an answer', async () => {
      const verifier = away();
      const tokens = await Promise.all(Array.from({ length: 5 }, () => service.token()));
      const round = () => Promise.all([...tokens, ...tokens].map((token) => statusOf(verifier, token)));
      const began = performance.now();
      for (let i = 0; i < 20; i++) expect(new Set(await round())).toEqual(new Set([200]));
      const seconds = (performance.now() - began) / 1000;
      expect(service.count('/oauth2/introspect')).toBeLessThanOrEqual(5 * Math.ceil(seconds + 0.01));
      service.introspect = inactive;
      await until(async () => (await round()).every((status) => status === 401));
      expect((performance.now() - began) / 1000 - seconds).toBeLessThan(1.2);
    });

    it('refuses known ended sessions without a request', async () => {
      const sid = randomUUID();
      service.past = ended(sid);
      const verifier = away({ whenAway: 'accept' });
      const token = await service.token({ sid });
      await until(async () => (await statusOf(verifier, token)) === 401);
      expect(service.count('/oauth2/introspect')).toBe(0);
    });

    it.each<[string, FakeService['introspect']]>([
      [
        'an error',
        (_, response) => response.writeHead(500).end('{"error":"server_error","error_description":""}'),
      ],
      [
        'too many requests',
        (_, response) => response.writeHead(429, { 'Retry-After': '7' }).end('{"error":"slow_down"}'),
      ],
      ['something else', (_, response) => response.end('{"active":"yes"}')],
      ['nothing', (_, response) => response.destroy()],
    ])('answered with %s: 503, never 401', async (_name, introspect) => {
      service.introspect = introspect;
      const error = (await away()
        .verify(await service.token())
        .catch((reason: unknown) => reason)) as LatchkeyError;
      expect([error.status, error.code]).toEqual([503, 'temporarily_unavailable']);
      expect(error.headers['Retry-After']).toMatch(/^[17]$/);
    });

    it('a call whose connection breaks is made again, once', async () => {
      let calls = 0;
      service.introspect = (_, response) =>
        ++calls % 2 === 1 ? response.destroy() : response.end('{"active":true}');
      const verifier = away();
      expect(await statusOf(verifier, await service.token())).toBe(200);
      expect(calls).toBe(2);
    });

    it('ignores a `ready` after a silence: the next connection counts', async () => {
      const verifier = away();
      await until(() => service.streams.size === 1);
      const now = Date.now();
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + 2500);
      try {
        service.talks = true;
        service.say('event: ready\nid: c7\ndata: {}\n\n');
        await until(() => service.cursors.length === 2 && verifier.isNotified); // although it spoke on
        expect(service.cursors[1]).toMatch(/^c[17]$/);
      } finally {
        clock.mockRestore();
      }
    });

    it('accept and refuse do what they say, and ask nothing', async () => {
      const token = await service.token();
      expect(await statusOf(away({ whenAway: 'accept' }), token)).toBe(200);
      expect(await statusOf(away({ whenAway: 'refuse' }), token)).toBe(503);
      expect(service.count('/oauth2/introspect')).toBe(0);
    });

    it('no more than 100 calls at a time', async () => {
      let [open, most] = [0, 0];
      service.introspect = (_, response) => {
        most = Math.max(most, ++open);
        setTimeout(() => (open--, response.end('{"active":true}')), 1000);
      };
      const verifier = away();
      const tokens = await Promise.all(Array.from({ length: 150 }, () => service.token()));
      const statuses = await Promise.all(tokens.map((token) => statusOf(verifier, token)));
      // A busy machine may not answer all of them within a call's 2.5 s.
      for (const status of statuses) expect([200, 503]).toContain(status);
      expect(most).toBeGreaterThan(50);
      expect(most).toBeLessThanOrEqual(100);
    });

    it('a service without the stream is reported once', async () => {
      service.stream = (_, response) => response.writeHead(404).end('{"error":"not_found"}');
      const old = create();
      await until(() => service.cursors.length >= 3);
      expect(warnings).toEqual([
        expect.stringContaining('not received (GET /sessions/ended: the service answered with 404)'),
      ]);
      expect(await statusOf(old, await service.token())).toBe(200); // introspection is older
    });
  });

  describe('a key that the service refuses', () => {
    const refusing =
      ([status, error]: readonly [number, string, string]): FakeService['stream'] =>
      (_, response) =>
        response.writeHead(status).end(JSON.stringify({ error, error_description: 'x' }));
    const errorOf = async (verifier: Verifier): Promise<LatchkeyError> =>
      (await verifier.verify(await service.token()).catch((reason: unknown) => reason)) as LatchkeyError;
    const UNKNOWN = [401, 'invalid_token', 'the service does not know it'] as const;
    const WITHOUT_RIGHT = [403, 'insufficient_scope', 'it has no right read'] as const;

    it.each([UNKNOWN, WITHOUT_RIGHT])(
      'with %i %s: is service_key_refused at the first use, one line in the log, and good again once it is accepted',
      async (...refusal) => {
        const [, , reason] = refusal;
        const { stream, introspect } = service;
        service.stream = service.introspect = refusing(refusal);
        const verifier = create();
        const error = await errorOf(verifier); // at once, perhaps before the stream was answered
        expect(error).toMatchObject({ code: 'service_key_refused', status: 500, headers: {} });
        expect(error.description).toBe(`the service key was refused: ${reason}`);
        await until(() => service.cursors.length >= 3);
        expect(await errorOf(verifier)).toMatchObject({ code: 'service_key_refused' });
        expect(warnings).toEqual([
          expect.stringMatching(`^service_key_refused: .*: ${reason}[.] [A-Z].* SERVICE_KEYS`),
        ]);
        expect(JSON.stringify([warnings, error, String(error)])).not.toContain(SERVICE_KEY);
        Object.assign(service, { stream, introspect });
        expect(await statusOf(verifier, await service.token())).toBe(200); // by introspection
        await until(() => verifier.isNotified);
        expect(await statusOf(verifier, await service.token())).toBe(200);
        expect(warnings).toHaveLength(1);
      },
    );

    it('is reported again after it was accepted', async () => {
      await createFresh();
      for (const lines of [1, 2]) {
        const { stream } = service;
        service.stream = refusing(UNKNOWN);
        for (const open of service.streams) open.destroy();
        await until(() => warnings.length === lines);
        service.stream = stream;
        await until(() => service.streams.size > 0 && verifiers[0]!.isNotified);
      }
    });

    it('is refused at once with whenAway refuse, accepted with accept, and reported by both', async () => {
      service.stream = service.introspect = refusing(WITHOUT_RIGHT);
      const [refuse, accept] = [create({ whenAway: 'refuse' }), create({ whenAway: 'accept' })];
      await until(() => warnings.length === 2);
      expect(await errorOf(refuse)).toMatchObject({ code: 'service_key_refused', status: 500 });
      expect(await statusOf(accept, await service.token())).toBe(200);
      expect(service.count('/oauth2/introspect')).toBe(0);
      service.stream = (_, response) => response.writeHead(503).end();
      await until(async () => (await errorOf(refuse)).status === 503); // the service may know it by now
    });

    it('does not change the answer for forged tokens and ended sessions: 401', async () => {
      const sid = randomUUID();
      service.past = ended(sid);
      const verifier = await createFresh();
      service.stream = service.introspect = refusing(UNKNOWN);
      for (const open of service.streams) open.destroy();
      await until(async () => (await errorOf(verifier)).code === 'service_key_refused');
      expect(await statusOf(verifier, await service.token({ sid }))).toBe(401);
      expect(await statusOf(verifier, 'forged')).toBe(401);
    });

    it('of a call: one line for each right, for any number of calls', async () => {
      const verifier = await createFresh();
      service.other = refusing(WITHOUT_RIGHT);
      const calls = [
        () => verifier.push({ userId: 'u', event: 'note' }),
        () => verifier.users.signOut('u'),
        () => verifier.users.signOut({ provider: 'mock', providerUserId: 'u' }),
      ];
      for (const call of [...calls, ...calls])
        await expect(call()).rejects.toMatchObject({ code: 'service_key_refused' });
      expect(warnings).toEqual([
        expect.stringContaining('it has no right push'),
        expect.stringContaining('it has no right support'),
      ]);
      expect(await statusOf(verifier, await service.token())).toBe(200);
    });
  });

  it('a listener to warnings that throws ends nothing', async () => {
    const said = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      service.stream = (_, response) => response.writeHead(503).end();
      const onWarning = (): never => {
        throw new Error('no logger');
      };
      create({ onWarning });
      await until(() => service.cursors.length >= 2);
      expect(said.mock.calls).toEqual([[expect.stringContaining('Sign-outs are not received')]]);
    } finally {
      said.mockRestore();
    }
  });

  describe('a stream that falls silent', () => {
    it('counts as away after 2 s, is left, and found again; a question that is not answered is 503 before 3 s', async () => {
      const proxy = await TcpProxy.before(service.url);
      const verifier = create({ url: `http://127.0.0.1:${proxy.port}` });
      await until(() => verifier.isNotified);
      expect(await statusOf(verifier, await service.token())).toBe(200);
      const frozenAt = performance.now();
      proxy.toClient.drops = () => true; // half open: what is sent arrives, and no answer comes back
      await until(() => !verifier.isNotified);
      const silence = performance.now() - frozenAt;
      expect(silence).toBeGreaterThan(1500); // the last word was up to 0.2 s before
      expect(silence).toBeLessThan(3000); // 2 s, on a machine that is busy
      const sentAt = performance.now();
      expect(await statusOf(verifier, await service.token())).toBe(503);
      expect(performance.now() - sentAt).toBeLessThan(3000);
      await until(() => service.cursors.length > 1); // it has tried again, although nothing was closed
      await proxy.refuse();
      await proxy.restore();
      await until(() => verifier.isNotified);
      expect(service.cursors.at(-1)).toMatch(/^c[01]$/);
      await proxy.refuse();
    });
  });

  it('does not keep the process alive once it is closed', async () => {
    const verifier = await createFresh();
    verifier.close();
    await until(() => service.streams.size === 0);
    expect(verifier.isNotified).toBe(false);
  });
});
