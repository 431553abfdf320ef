import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import * as forExpress from '../src/express.js';
import * as forFastify from '../src/fastify.js';
import { LatchkeyError } from '../src/index.js';
import { invalidToken, temporarilyUnavailable } from '../src/latchkey-error.js';
import type { Authenticator } from '../src/verifier.js';
import { APIS, serve, type Api } from './support/apis.js';

const STEP_MS = 20;
const INVALID = { error: 'invalid_token', error_description: 'the access token is invalid' };

function throwAgain(error: unknown): never {
  throw error;
}

async function answerOf(url: string): Promise<[number, unknown]> {
  const response = await fetch(`${url}/orders`, { signal: AbortSignal.timeout(5000) });
  return [response.status, await response.json()];
}

/** Refuses each request after a turn, as a verifier does that asks the service. */
const refusing = (
  error: () => unknown = () => invalidToken('the access token is invalid'),
): Authenticator => ({
  authenticate: async () => {
    await delay(STEP_MS);
    throw error();
  },
});

/** The handler of an API must not run without claims, also if the client hangs up while the refusal is being answered. */
describe('a refused request', () => {
  let app: FastifyInstance;
  let handled: number;
  let rejections: unknown[];
  const onRejection = (reason: unknown): void => void rejections.push(reason);

  beforeEach(() => {
    handled = 0;
    rejections = [];
    process.on('unhandledRejection', onRejection).on('uncaughtException', onRejection);
  });
  afterEach(() => {
    process.off('unhandledRejection', onRejection).off('uncaughtException', onRejection);
    expect(rejections).toEqual([]);
    expect(handled).toBe(0);
  });

  /** Asks, and hangs up after some time: before the refusal, in the middle of it, and after it. */
  async function hangUp(url: string): Promise<void> {
    const { port } = new URL(url);
    const clients = Array.from({ length: 40 }, async (_, i) => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.write('GET /orders HTTP/1.1\r\nHost: api\r\n\r\n');
      await delay(i * 2);
      if (i % 2) socket.resetAndDestroy();
      else socket.destroy();
    });
    await Promise.all(clients);
    await delay(6 * STEP_MS);
  }

  describe('of Fastify', () => {
    beforeEach(() => {
      app = fastify();
    });
    afterEach(() => app.close());

    async function start(verifier = refusing()): Promise<string> {
      app.addHook('onRequest', forFastify.authenticate(verifier));
      app.get('/orders', () => {
        handled++;
        return { orders: [] };
      });
      return app.listen({ host: '127.0.0.1', port: 0 });
    }

    const hooks: Record<string, () => void> = {
      'an asynchronous onSend hook': () =>
        void app.addHook('onSend', async (_request, _reply, payload) => {
          await delay(2 * STEP_MS);
          return payload;
        }),
      'a preSerialization hook': () =>
        void app.addHook('preSerialization', async (_request, _reply, payload) => {
          await delay(2 * STEP_MS);
          return payload;
        }),
      'an error handler of the application': () =>
        void app.setErrorHandler(async (error, _request, reply) => {
          await delay(2 * STEP_MS);
          return reply.send(error);
        }),
    };

    it.each(Object.keys(hooks))('with %s that takes time: its handler never runs', async (name) => {
      hooks[name]!();
      const url = await start();
      await hangUp(url);
      expect(await answerOf(url)).toEqual([401, INVALID]);
    });

    it.each<[string, () => LatchkeyError]>([
      ['invalid_token', () => invalidToken('the access token is invalid')],
      ['temporarily_unavailable', () => temporarilyUnavailable(undefined, '7')],
      [
        'service_key_refused',
        () => new LatchkeyError('service_key_refused', 500, 'the service key was refused'),
      ],
    ])('with %s is answered as by the service itself', async (_code, error) => {
      const response = await fetch(`${await start(refusing(error))}/orders`);
      const { status, body, headers } = error();
      expect([response.status, await response.text()]).toEqual([status, JSON.stringify(body)]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      });
    });

    it.each<[string, Parameters<FastifyInstance['setErrorHandler']>[0], object]>([
      [
        'knows statusCode',
        (error, _request, reply) =>
          reply
            .status((error as { statusCode?: number }).statusCode ?? 500)
            .send({ own: (error as Error).message }),
        { own: 'invalid_token: the access token is invalid' },
      ],
      ['leaves the status alone', (_error, _request, reply) => reply.send({ own: true }), { own: true }],
      ['rejects with the error', async (error) => throwAgain(error), INVALID],
      ['sends the error', (error, _request, reply) => void reply.send(error), INVALID],
    ])('with an error handler that %s', async (_name, handler, body) => {
      app.setErrorHandler(handler);
      const response = await fetch(`${await start()}/orders`);
      expect([response.status, await response.json()]).toEqual([401, body]);
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    });

    it.each<[string, () => void]>([
      ['none', () => undefined],
      [
        'one that sends the error',
        () => void app.setErrorHandler((error, _request, reply) => reply.send(error)),
      ],
    ])('with an onSend hook that fails, and as error handler %s: it is answered', async (_name, prepare) => {
      prepare();
      app.addHook('onSend', async () => {
        await delay(1);
        throw new Error('the session store is away');
      });
      const url = await start();
      await hangUp(url);
      const failure = expect.objectContaining({ message: 'the session store is away' }) as object;
      expect(await answerOf(url)).toEqual([401, failure]);
    });

    it('leaves the reply to a hook that catches the error, as for routes with an optional user', async () => {
      const hook = forFastify.authenticate(refusing());
      app.addHook('onRequest', (request, reply) => hook(request, reply).catch(() => undefined));
      app.get('/news', (_request, reply) => reply.send({ user: null }));
      const response = await fetch(`${await app.listen({ host: '127.0.0.1', port: 0 })}/news`);
      expect([response.status, await response.json()]).toEqual([200, { user: null }]);
      expect(response.headers.has('www-authenticate')).toBe(false);
    });

    it('after a time limit of the application was answered: its handler never runs', async () => {
      app.addHook('onRequest', (_request, reply, done) => {
        setTimeout(() => void reply.code(503).send('"too late"'), STEP_MS / 2);
        done();
      });
      expect(await answerOf(await start())).toEqual([503, 'too late']);
      await delay(2 * STEP_MS);
    });
  });

  describe.each(Object.keys(APIS))('of %s', (name) => {
    let api: Api;

    async function start(prepare: (response: ServerResponse) => void): Promise<void> {
      const listener = await APIS[name]!(refusing(), { call: () => handled++, error: onRejection });
      api = await serve((request, response) => {
        prepare(response);
        listener(request, response);
      });
    }
    afterEach(() => api.close());

    it('whose client hangs up, with an answer that takes time: its handler never runs', async () => {
      await start((response) => {
        const end = response.end.bind(response);
        response.end = ((...rest: []) => {
          setTimeout(() => end(...rest), 2 * STEP_MS);
          return response;
        }) as typeof response.end;
      });
      await hangUp(api.url);
      expect(await answerOf(api.url)).toEqual([401, INVALID]);
    });

    if (['Hono', 'Request'].includes(name)) return; // their answers do not go through the response of Node.js
    it('after a time limit of the application was answered: nothing fails', async () => {
      await start((response) => {
        setTimeout(() => response.writeHead(503).end('"too late"'), STEP_MS / 2);
      });
      expect(await answerOf(api.url)).toEqual([503, 'too late']);
      await delay(2 * STEP_MS);
    });
  });

  it('whose answer code of the application refuses: the error goes to the application, and no promise rejects', async () => {
    const failure = new Error('a listener of the application');
    const response = {
      headersSent: false,
      setHeader: () => undefined,
      end: () => {
        throw failure;
      },
    };
    const next = jest.fn();
    const guard = forExpress.authenticate(refusing());
    await guard({ headers: {} } as never, response as never, next);
    expect(next.mock.calls).toEqual([[failure]]);
  });

  it.each([undefined, null, 'route', 'router'])(
    'of Express by %p in place of an error: is no call for the handler',
    async (thrown) => {
      const next = jest.fn();
      await forExpress.authenticate(refusing(() => thrown))({ headers: {} } as never, {} as never, next);
      expect(next.mock.calls).toEqual([[expect.any(Error)]]);
    },
  );
});
