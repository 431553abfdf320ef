import {
  Catch,
  Controller,
  Get,
  HttpException,
  Module,
  Req,
  UseFilters,
  type ArgumentsHost,
  type INestApplication,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/internal';
import { IoAdapter } from '@nestjs/platform-socket.io';
import {
  ConnectedSocket,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
  type WsResponse,
} from '@nestjs/websockets';
import { io, type ManagerOptions, type Socket as ClientSocket, type SocketOptions } from 'socket.io-client';
import type { Socket } from 'socket.io';
import { readBearerToken } from '../src/token/bearer.js';
import type { Claims } from '../src/index.js';
import { invalidToken, temporarilyUnavailable } from '../src/latchkey-error.js';
import { authenticate, RequireClaim, Roles } from '../src/nestjs.js';
import type { Authenticator } from '../src/verifier.js';

/** Knows the tokens `good` and `admin`, and is away for the token `away`. */
const verifier: Authenticator = {
  authenticate: async (request) => {
    const token = readBearerToken(request);
    if (token === 'away') throw temporarilyUnavailable();
    if (token === 'admin')
      return { sub: 'grace', roles: ['admin'], claims: { plan: 'pro' } } as unknown as Claims;
    if (token !== 'good') throw invalidToken('the access token is invalid');
    return { sub: 'ada' } as Claims;
  },
};
const NO_TOKEN = {
  error: 'invalid_token',
  error_description: 'an access token is needed, as a bearer token',
};
const MALFORMED = {
  error: 'invalid_token',
  error_description: 'the Authorization header holds no bearer token',
};
const NO_RIGHT = {
  error: 'insufficient_scope',
  error_description: 'the user does not have the right to do this',
};
const INVALID = { error: 'invalid_token', error_description: 'the access token is invalid' };

/** The guard of all contexts of an application (APP_GUARD). */
describe('the guard for NestJS', () => {
  describe('in an application with a gateway', () => {
    let app: INestApplication;
    let url: string;
    let handled: number;
    const clients: ClientSocket[] = [];

    @Catch(HttpException)
    class Filter {
      catch(exception: HttpException, host: ArgumentsHost): void {
        host.switchToWs().getClient<Socket>().emit('refused', exception.getStatus(), exception.getResponse());
      }
    }

    @UseFilters(Filter)
    @WebSocketGateway()
    class Gateway {
      @SubscribeMessage('orders')
      orders(@ConnectedSocket() client: Socket): WsResponse {
        handled++;
        return { event: 'orders', data: { of: (client.data as { claims: Claims }).claims.sub } };
      }

      @Roles('admin')
      @SubscribeMessage('remove')
      remove(): WsResponse {
        handled++;
        return { event: 'removed', data: null };
      }
    }

    @Controller('orders')
    class Orders {
      @Get()
      list(@Req() { claims }: { claims: Claims }): object {
        return { of: claims.sub };
      }
    }

    async function start(guard: object): Promise<void> {
      @Module({ controllers: [Orders], providers: [Gateway, { provide: APP_GUARD, useValue: guard }] })
      class App {}
      app = await NestFactory.create(App, { logger: ['fatal'] });
      app.useWebSocketAdapter(new IoAdapter(app));
      await app.listen(0, '127.0.0.1');
      url = await app.getUrl();
    }
    beforeEach(() => {
      handled = 0;
    });
    afterEach(async () => {
      for (const client of clients.splice(0)) client.close();
      await app.close();
    });

    /** What a client gets that sends the message. */
    function ask(options: Partial<ManagerOptions & SocketOptions>, message = 'orders'): Promise<unknown[]> {
      const client = io(url, { transports: ['websocket'], forceNew: true, reconnection: false, ...options });
      clients.push(client);
      client.emit(message, {});
      return new Promise((resolve) => client.onAny((...event) => resolve(event)));
    }

    it.each<[string, Partial<ManagerOptions & SocketOptions>]>([
      ['auth.token', { auth: { token: 'good' } }],
      ['the header of the handshake', { extraHeaders: { Authorization: 'Bearer good' } }],
      [
        'the header, if auth.token is null',
        { auth: { token: null }, extraHeaders: { Authorization: 'Bearer good' } },
      ],
    ])('takes the token of %s', async (_name, options) => {
      await start(authenticate(verifier, HttpException, WsException));
      expect(await ask(options)).toEqual(['orders', { of: 'ada' }]);
    });

    it.each<[string, Partial<ManagerOptions & SocketOptions>, object]>([
      ['no token', {}, NO_TOKEN],
      ['another token', { auth: { token: 'other' } }, INVALID],
      [
        'another token, and a header',
        { auth: { token: 'x' }, extraHeaders: { Authorization: 'Bearer good' } },
        INVALID,
      ],
      ['a token that is no text', { auth: { token: { toString: 'good' } } }, MALFORMED],
      ['a token in the query', { query: { token: 'good', access_token: 'good' } }, NO_TOKEN],
      [
        'a token while the service is away',
        { auth: { token: 'away' } },
        expect.objectContaining({ error: 'temporarily_unavailable' }) as object,
      ],
    ])('answers %s with the body of the error', async (_name, options, body) => {
      await start(authenticate(verifier, HttpException, WsException));
      expect(await ask(options)).toEqual(['exception', body]);
      expect(handled).toBe(0);
    });

    it('lets only users with the role send a message that needs it', async () => {
      await start(authenticate(verifier, HttpException, WsException));
      expect(await ask({ auth: { token: 'good' } }, 'remove')).toEqual(['exception', NO_RIGHT]);
      expect(handled).toBe(0);
      expect(await ask({ auth: { token: 'admin' } }, 'remove')).toEqual(['removed', null]);
      expect(await ask({ auth: { token: 'admin' } })).toEqual(['orders', { of: 'grace' }]);
    });

    it('throws an HttpException without a WsException, for the filters of the application', async () => {
      await start(authenticate(verifier, HttpException));
      expect(await ask({ auth: { token: 'other' } })).toEqual(['refused', 401, INVALID]);
      expect(await ask({ auth: { token: 'good' } })).toEqual(['orders', { of: 'ada' }]);
      expect(handled).toBe(1);
    });

    it('guards its HTTP routes as well', async () => {
      await start(authenticate(verifier, HttpException, WsException));
      const answers = await Promise.all(
        ['Bearer good', 'Bearer other'].map((Authorization) =>
          fetch(`${url}/orders`, { headers: { Authorization } }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 401]);
      expect(await answers[0]!.json()).toEqual({ of: 'ada' });
      expect(await answers[1]!.json()).toEqual(INVALID);
      expect(answers[1]!.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    });
  });

  /** A context as Nest makes it, for a type of Nest or of a library. */
  function contextOf(type: string, args: unknown[], target?: typeof Target): ExecutionContextHost {
    // oxlint-disable-next-line typescript/unbound-method -- only its metadata is read
    const context = new ExecutionContextHost(args as string[], target, target?.prototype.remove);
    context.setType(type);
    return context;
  }
  class Target {
    @Roles('admin')
    remove(): void {}
  }
  const headers = { authorization: 'Bearer good' };
  const guard = authenticate(verifier, HttpException, WsException);

  it.each<[string, string, (request: object) => unknown[]]>([
    ['Apollo', 'graphql', (req) => [undefined, {}, { req }, {}]],
    ['Yoga', 'graphql', (request) => [undefined, {}, { request }, {}]],
    ['Mercurius', 'graphql', (request) => [undefined, {}, { reply: { request } }, {}]],
    ['HTTP', 'http', (request) => [request, {}]],
  ])('sets the claims of the request of %s', async (_name, type, argsOf) => {
    const requests = [{ headers: { ...headers } }, new Request('http://api', { headers })];
    for (const request of requests) {
      expect(await guard.canActivate(contextOf(type, argsOf(request)))).toBe(true);
      expect(request).toMatchObject({ claims: { sub: 'ada' } });
    }
    const refused = { headers: { authorization: 'Bearer other' } };
    const error = await guard
      .canActivate(contextOf(type, argsOf(refused)))
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HttpException);
    expect((error as HttpException).getResponse()).toEqual(INVALID);
    expect(error).toMatchObject({ status: 401, message: INVALID.error_description });
    expect(refused).not.toHaveProperty('claims');
  });

  it.each<[string, string, (request: object) => unknown[]]>([
    ['HTTP', 'http', (request) => [request, {}]],
    ['GraphQL', 'graphql', (req) => [undefined, {}, { req }, {}]],
    ['a gateway', 'ws', (request) => [{ request }, {}]],
  ])('asks for the roles of class and method in a context of %s', async (_name, type, argsOf) => {
    const outcome = async (token: string, target: typeof Target) => {
      const request = { headers: { authorization: `Bearer ${token}` } };
      return guard.canActivate(contextOf(type, argsOf(request), target)).catch((error: unknown) => {
        expect(request).not.toHaveProperty('claims');
        return error instanceof WsException ? error.getError() : (error as HttpException).getResponse();
      });
    };
    @Roles('reader')
    class Readers extends Target {}
    @RequireClaim('plan', 'pro')
    @RequireClaim('plan', 'free')
    class Both extends Target {}
    @RequireClaim('plan', 'pro')
    class Pro extends Target {}
    expect(await outcome('admin', Target)).toBe(true);
    expect(await outcome('admin', Pro)).toBe(true);
    expect(await outcome('good', Target)).toEqual(NO_RIGHT);
    for (const target of [Readers, Both]) expect(await outcome('admin', target)).toEqual(NO_RIGHT);
    expect(await outcome('other', Target)).toEqual(INVALID);
    expect(() => (Roles('admin') as PropertyDecorator)(Target.prototype, 'property')).toThrow(TypeError);
  });

  it('takes the header of the request with which a socket of ws was opened, if the application kept it', async () => {
    const client = { request: { headers } };
    expect(await guard.canActivate(contextOf('ws', [client, {}]))).toBe(true);
    expect(client).toMatchObject({ data: { claims: { sub: 'ada' } } });
  });

  it.each<[string, string, unknown[]]>([
    ['a message of a microservice', 'rpc', [{ headers }, { getPattern: () => 'orders' }]],
    ['a context of another library', 'necord', [undefined, {}, { req: { headers } }, {}]],
    ['GraphQL without a request', 'graphql', [undefined, {}, {}, {}]],
    ['GraphQL, a subscription without a request', 'graphql', [undefined, {}, { req: { extra: {} } }, {}]],
    ['a socket of ws whose request was not kept', 'ws', [{ send: () => undefined }, {}]],
    ['HTTP without a request', 'http', []],
  ])('refuses %s', async (_name, type, args) => {
    const error = await guard.canActivate(contextOf(type, args)).catch((reason: unknown) => reason);
    const body = {
      error: 'invalid_token',
      error_description: expect.stringContaining('no access token can be read here'),
    };
    expect(error).toBeInstanceOf(type === 'ws' ? WsException : HttpException);
    expect(error instanceof WsException ? error.getError() : (error as HttpException).getResponse()).toEqual(
      body,
    );
  });
});
