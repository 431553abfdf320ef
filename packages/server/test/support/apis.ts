import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, HttpException, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express, { type Request as ExpressRequest } from 'express';
import { fastify, type FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import * as forExpress from '../../src/express.js';
import * as forFastify from '../../src/fastify.js';
import * as forHono from '../../src/hono.js';
import {
  LatchkeyError,
  requireClaim,
  requireRecentAuth,
  requireRole,
  requireScope,
  type Authenticator,
} from '../../src/index.js';
import * as forNest from '../../src/nestjs.js';

/** Gets the calls of an API's handler, and the errors that its framework logs. */
interface Observer {
  readonly call: () => void;
  readonly error: (reason: unknown) => void;
}

const nothing = (): void => undefined;
/** What `/pay` needs. */
const RECENT = { maxAge: 300, acr: ['gold', 'platinum'] };

const NOBODY: Observer = { call: nothing, error: console.error };

/** Parameters of `protectedResource()`. */
type Declared = Parameters<typeof forExpress.protectedResource>;

/**
 * An API in each framework: `GET /orders` answers with their user; `/admin` needs a role, `/pro` a claim, `/pay` a recent sign-in,
 * `/scoped` a scope.
 * @param declared the API as a protected resource
 */
export const APIS: Record<
  string,
  (
    verifier: Authenticator,
    observer?: Observer,
    declared?: Declared,
  ) => RequestListener | Promise<RequestListener>
> = {
  Express(verifier, { call } = NOBODY, declared) {
    return express()
      .use(declared ? forExpress.protectedResource(...declared) : (_request, _response, next) => next())
      .use(forExpress.authenticate(verifier))
      .use('/admin', forExpress.requireRole('admin', 'owner'))
      .use('/pro', forExpress.requireClaim('plan', 'pro'))
      .use('/pay', forExpress.requireRecentAuth(RECENT))
      .use('/scoped', forExpress.requireScope('orders:write'))
      .get(['/orders', '/admin', '/pro', '/pay', '/scoped'], ({ claims }, response) => {
        call();
        response.json({ of: claims.sub });
      });
  },

  /** No framework, so promises are ignored. */
  'Node.js'(verifier, { call } = NOBODY, declared) {
    const resource = declared && forExpress.protectedResource(...declared);
    const guard = forExpress.authenticate(verifier);
    const guards: Record<string, typeof guard> = {
      '/admin': forExpress.requireRole('admin', 'owner'),
      '/pro': forExpress.requireClaim('plan', 'pro'),
      '/pay': forExpress.requireRecentAuth(RECENT),
      '/scoped': forExpress.requireScope('orders:write'),
    };
    return (request, response) => {
      const guarded = request as Parameters<typeof guard>[0];
      const answer = (): void => {
        call();
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ of: guarded.claims.sub }));
      };
      const next = guards[request.url!];
      const authenticate = (): void =>
        void guard(guarded, response, () => void (next ? next(guarded, response, answer) : answer()));
      if (resource) resource(request, response, authenticate);
      else authenticate();
    };
  },

  async Fastify(verifier, { call } = NOBODY, declared) {
    const app = fastify();
    if (declared) app.addHook('onRequest', forFastify.protectedResource(...declared));
    app.addHook('onRequest', forFastify.authenticate(verifier));
    const list = ({ claims }: FastifyRequest): object => {
      call();
      return { of: claims.sub };
    };
    app.get('/orders', list);
    app.get('/admin', { onRequest: forFastify.requireRole('admin', 'owner') }, list);
    app.get('/pro', { onRequest: forFastify.requireClaim('plan', 'pro') }, list);
    app.get('/pay', { onRequest: forFastify.requireRecentAuth(RECENT) }, list);
    app.get('/scoped', { onRequest: forFastify.requireScope('orders:write') }, list);
    await app.ready();
    return (request, response) => app.routing(request, response);
  },

  async NestJS(verifier, { call, error } = NOBODY, declared) {
    @UseGuards(forNest.authenticate(verifier, HttpException))
    @Controller()
    class Orders {
      @Get('orders')
      list(@Req() { claims }: ExpressRequest): object {
        call();
        return { of: claims.sub };
      }
      @forNest.RequireClaim('plan', 'pro')
      @Get('pro')
      reports(@Req() { claims }: ExpressRequest): object {
        return { of: claims.sub };
      }
      @forNest.RequireScope('orders:write')
      @Get('scoped')
      scoped(@Req() { claims }: ExpressRequest): object {
        call();
        return { of: claims.sub };
      }
      @forNest.RequireRecentAuth(RECENT)
      @Get('pay')
      pay(@Req() { claims }: ExpressRequest): object {
        call();
        return { of: claims.sub };
      }
    }
    @forNest.Roles('admin', 'owner')
    class ForAdmins {}
    @UseGuards(forNest.authenticate(verifier, HttpException))
    @Controller('admin')
    class Admin extends ForAdmins {
      @Get()
      list(@Req() { claims }: ExpressRequest): object {
        call();
        return { of: claims.sub };
      }
    }
    @Module({ controllers: [Orders, Admin] })
    class App {}
    const app = await NestFactory.create(App, { logger: { log: nothing, warn: nothing, error } });
    if (declared) app.use(forNest.protectedResource(...declared));
    await app.init();
    return app.getHttpAdapter().getInstance() as RequestListener;
  },

  Hono(verifier, { call } = NOBODY, declared) {
    const app = new Hono();
    if (declared) app.use(forHono.protectedResource(...declared));
    app.use(forHono.authenticate(verifier));
    app.use('/admin', forHono.requireRole('admin', 'owner'));
    app.use('/pro', forHono.requireClaim('plan', 'pro'));
    app.use('/pay', forHono.requireRecentAuth(RECENT));
    app.use('/scoped', forHono.requireScope('orders:write'));
    app.get('*', (context) => {
      call();
      return context.json({ of: context.get('claims').sub });
    });
    return forWeb((request) => app.fetch(request));
  },

  Request(verifier, { call } = NOBODY, declared) {
    const resource = declared && declared[0].protectedResource(declared[1]);
    return forWeb(async (request) => {
      try {
        const metadata = resource?.handle(request);
        if (metadata) return metadata;
        const claims = await verifier.authenticate(request);
        const { pathname } = new URL(request.url);
        if (pathname === '/admin') requireRole('admin', 'owner')(claims);
        if (pathname === '/pro') requireClaim('plan', 'pro')(claims);
        if (pathname === '/pay') requireRecentAuth(RECENT)(claims);
        if (pathname === '/scoped') requireScope('orders:write')(claims);
        call();
        return Response.json({ of: claims.sub });
      } catch (error) {
        if (error instanceof LatchkeyError) return error.toResponse();
        throw error;
      }
    });
  },
};

/** Serves a handler of web requests, as the adapters for Node.js do. */
function forWeb(handle: (request: Request) => Response | Promise<Response>): RequestListener {
  return (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    void Promise.resolve(
      handle(new Request(`http://localhost${request.url}`, { method: request.method!, headers })),
    ).then(async (answer) => {
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      return response.end(await answer.text());
    });
  };
}

/** Starts a server. */
export async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => new Promise((resolve) => server.close(resolve)) };
}
export type Api = Awaited<ReturnType<typeof serve>>;
