import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, HttpException, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express, { type Request as ExpressRequest } from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import * as forExpress from '../../src/express.js';
import * as forFastify from '../../src/fastify.js';
import * as forHono from '../../src/hono.js';
import { LatchkeyError, type Verifier } from '../../src/index.js';
import * as forNest from '../../src/nestjs.js';

/** An application's API: `GET /orders` tells whose they are, to those who may know. */
export interface Api {
  readonly url: string;
  close(): Promise<unknown>;
}

export const APIS: Record<string, (verifier: Verifier) => Promise<Api>> = {
  async Express(verifier) {
    const app = express();
    app.get('/orders', forExpress.authenticate(verifier), (request, response) => {
      response.json({ of: request.claims.sub });
    });
    return listening(createServer(app));
  },

  async Fastify(verifier) {
    const app = fastify();
    app.addHook('onRequest', forFastify.authenticate(verifier));
    app.get('/orders', (request) => ({ of: request.claims.sub }));
    return { url: await app.listen(), close: () => app.close() };
  },

  async NestJS(verifier) {
    @UseGuards(forNest.authenticate(verifier, HttpException))
    @Controller('orders')
    class Orders {
      @Get()
      list(@Req() request: ExpressRequest): object {
        return { of: request.claims.sub };
      }
    }
    @Module({ controllers: [Orders] })
    class App {}
    const app = await NestFactory.create(App, { logger: ['error'] });
    await app.listen(0, '127.0.0.1');
    return { url: await app.getUrl(), close: () => app.close() };
  },

  async Hono(verifier) {
    const app = new Hono();
    app.use(forHono.authenticate(verifier));
    app.get('/orders', (context) => context.json({ of: context.get('claims').sub }));
    return serving((request) => app.fetch(request));
  },

  async Request(verifier) {
    return serving(async (request) => {
      try {
        const { sub } = await verifier.authenticate(request);
        return Response.json({ of: sub });
      } catch (error) {
        if (error instanceof LatchkeyError) return error.toResponse();
        throw error;
      }
    });
  },
};

/** Serves a handler of web requests, as the adapters for Node.js do. */
function serving(handle: (request: Request) => Response | Promise<Response>): Promise<Api> {
  const server = createServer((request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    void Promise.resolve(handle(new Request(`http://localhost${request.url}`, { headers }))).then(
      async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        return response.end(await answer.text());
      },
    );
  });
  return listening(server);
}

async function listening(server: Server): Promise<Api> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => new Promise((resolve) => server.close(resolve)) };
}
