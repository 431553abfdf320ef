import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PackageProject } from '../../../test/support/packed-package.js';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url));

/** The packed package, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install('server');
});
afterAll(() => project?.remove());

it('depends on jose alone, and brings nothing that is not needed', async () => {
  expect(Object.keys(project.manifest.dependencies ?? {})).toEqual(['jose']);
  const files = await readdir(project.installed);
  expect(files.toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  const built = await readdir(join(project.installed, 'dist'));
  expect(built.filter((file) => !/^[a-z-]+(?:\.d\.ts|\.js)$/.test(file))).toEqual([]);
});

it('can be imported without any framework, and lets the process end', async () => {
  await writeFile(
    join(project.directory, 'script.js'),
    `import { createVerifier, LatchkeyError } from '@latchkey/server';
    const names = ['express', 'fastify', 'hono', 'nestjs'];
    const middleware = await Promise.all(names.map((name) => import('@latchkey/server/' + name)));
    const verifier = createVerifier({ issuer: 'http://localhost:9' });
    const error = await verifier.verify('x').catch((reason) => reason);
    const listening = createVerifier({ issuer: 'http://localhost:9', serviceKey: 'k' });
    listening.close();
    console.log(JSON.stringify([middleware.map(({ authenticate }) => typeof authenticate), error.code, error instanceof LatchkeyError]));`,
  );
  const { stdout } = await run(process.execPath, ['script.js'], { cwd: project.directory, timeout: 15_000 });
  expect(JSON.parse(stdout)).toEqual([Array(4).fill('function'), 'invalid_token', true]);
});

// The API of test/support/apis.ts shows the same of the sources, with each `npm run check`.
(process.env['SOAK'] ? it : it.skip)(
  'has types that hold in strict mode, with each framework’s own',
  async () => {
    for (const name of ['express', 'fastify', 'hono', '@nestjs/common', '@types/express', '@types/node']) {
      const place = join(project.directory, 'node_modules', name);
      await mkdir(join(place, '..'), { recursive: true });
      await symlink(join(MODULES, name), place);
    }
    await writeFile(
      join(project.directory, 'types.ts'),
      `
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
    `,
    );
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2022',
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      skipLibCheck: true, // not all frameworks' own declarations hold without
      types: ['node'],
    };
    await writeFile(
      join(project.directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['types.ts'] }),
    );
    const checking = run(process.execPath, [join(MODULES, 'typescript/bin/tsc')], { cwd: project.directory });
    const { stdout } = await checking.catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  },
);
