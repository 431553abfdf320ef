import { needs } from '../support/installed.js';
import { PackageProject } from '../support/package-project.js';

/** The packed package, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(['server'], 'module');
});
afterAll(() => project?.remove());

it('depends on jose alone', async () => {
  const { dependencies } = await project.manifest('server');
  expect(Object.keys(dependencies ?? {})).toEqual(['jose']);
});

it('can be imported without any framework, and lets the process end', async () => {
  const output = await project.run(
    `import { createVerifier, LatchkeyError } from '@latchkey/server';
    const names = ['express', 'fastify', 'hono', 'nestjs'];
    const middleware = await Promise.all(names.map((name) => import('@latchkey/server/' + name)));
    const verifier = createVerifier({ issuer: 'http://localhost:9' });
    const error = await verifier.verify('x').catch((reason) => reason);
    const listening = createVerifier({ issuer: 'http://localhost:9', serviceKey: 'k' });
    listening.close();
    console.log(JSON.stringify([middleware.map(({ authenticate }) => typeof authenticate), error.code, error instanceof LatchkeyError]));`,
  );
  expect(JSON.parse(output)).toEqual([Array(4).fill('function'), 'invalid_token', true]);
});

// The API of test/support/apis.ts shows the same of the sources, with each `npm run check`.
needs({ 'SOAK=1': process.env['SOAK'] !== undefined }).it(
  'has types that hold in strict mode, with each framework’s own',
  async () => {
    for (const name of ['express', 'fastify', 'hono', '@nestjs/common', '@types/express', '@types/node'])
      await project.link(name);
    const source = `
    import { Controller, Get, HttpException, Req, UseGuards } from '@nestjs/common';
    import { createVerifier, LatchkeyError, type Claims, type Pushed } from '@latchkey/server';
    import { authenticate as forExpress } from '@latchkey/server/express';
    import { authenticate as forFastify } from '@latchkey/server/fastify';
    import { authenticate as forHono } from '@latchkey/server/hono';
    import { authenticate as forNest } from '@latchkey/server/nestjs';
    import express, { type Request as ExpressRequest } from 'express';
    import { fastify } from 'fastify';
    import { Hono } from 'hono';

    const latchkey = createVerifier({ issuer: 'https://id.example.com', serviceKey: 'k', whenAway: 'refuse' });
    express().get('/', forExpress(latchkey), (request, response) => void response.json(request.claims.sub));
    express().use('/api', forExpress(latchkey));
    const server = fastify();
    server.addHook('onRequest', forFastify(latchkey));
    server.get('/', { onRequest: forFastify(latchkey) }, (request) => request.claims.sid);
    new Hono().use('/api/*', forHono(latchkey)).get('/', (context) => context.text(context.get('claims').sub));
    @UseGuards(forNest(latchkey, HttpException))
    @Controller()
    export class Orders {
      @Get()
      list(@Req() request: ExpressRequest): string | undefined {
        return request.claims.device_id;
      }
    }
    export const claims: Promise<Claims> = latchkey.authenticate(new Request('http://localhost/'));
    export const pushed: Promise<Pushed> = latchkey.push({ userId: 'u', event: 'note', data: 1 });
    export const done: Promise<void>[] = [
      latchkey.signOutUser({ userId: 'u', deviceId: 'd' }),
      latchkey.signOutUser({ provider: 'mock', providerUserId: 'p' }),
    ];
    export const codeOf = (error: unknown) => error instanceof LatchkeyError && [error.code, error.status];
    // @ts-expect-error there is no such choice
    createVerifier({ issuer: 'https://id.example.com', whenAway: 'hope' });
    // @ts-expect-error by one id or the other
    void latchkey.signOutUser({ provider: 'mock' });
    `;
    const options = {
      module: 'nodenext',
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      skipLibCheck: true, // not all frameworks' own declarations hold without
      types: ['node'],
    };
    expect(await project.typeCheck({ 'types.ts': source }, options)).toBe('');
  },
);
