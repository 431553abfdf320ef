import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { ReadonlyVisitor } from '@nestjs/swagger/plugin';
import { AppModule } from '../src/app.module.js';
import { FEATURES } from '../src/features.js';
import { parseSettings } from '../src/settings.js';
import { makeDocument } from './document.js';
import { loadModels } from './models.js';
import { readSources } from './sources.js';

/** `npm run docs:api`: writes docs/openapi.json, and of it the page at /docs; with `--check`, only compares. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url)); // from dist/api/openapi

/** One provider with the name `name`, for the paths of all providers; in production, where no provider is built in. */
const settings = parseSettings({
  NODE_ENV: 'production',
  PUBLIC_URL: 'http://localhost:3000',
  REDIRECT_URIS: 'http://localhost:3000/callback',
  TRUST_PROXY: 'false',
  SECRET_KEY: '00'.repeat(32),
  DATABASE_URL: 'postgres://nobody@localhost/nothing', // nothing connects
  PROVIDERS_NAME_ADAPTER: 'oidc',
  PROVIDERS_NAME_URL: 'https://login.example',
  PROVIDERS_NAME_CLIENT_ID: 'latchkey',
  PROVIDERS_NAME_CLIENT_SECRET: 'a secret that is not used',
  ...(Object.assign({}, ...FEATURES.map(({ documented }) => documented)) as Record<string, string>),
});

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
const program = ReadonlyVisitor.createTsProgram(`${ROOT}tsconfig.build.json`);
const models = await loadModels(ROOT.slice(0, -1), program);
const app = await NestFactory.create(await AppModule.forRoot(settings), {
  preview: true,
  logger: false,
  abortOnError: false,
});
const document = makeDocument(app, models, readSources(program), version);

const file = `${ROOT}docs/openapi.json`;
const text = `${JSON.stringify(document, null, 2)}\n`;
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write('docs/openapi.json does not match the code: run `npm run docs:api`\n');
  process.exitCode = 1;
}

const page = ['--import', 'tsx', 'docs/.vitepress/http-page.ts', ...process.argv.slice(2)];
if (spawnSync(process.execPath, page, { cwd: ROOT, stdio: 'inherit' }).status !== 0) process.exitCode = 1;
