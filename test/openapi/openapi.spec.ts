import { existsSync, readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import axe from 'axe-core';
import type { Express } from 'express';
import type { Browser } from 'playwright-core';
import request from 'supertest';
import { ERROR_STATUS } from '../../src/errors/oauth-error.js';
import { inChromium, launchChromium } from '../support/chromium.js';
import { document, routes } from '../support/openapi/document.js';
import { startTestService, type TestService } from '../support/service.js';

const PUBLIC_URL = 'https://sign-in.example';

/** What the document leaves out: the sample provider is an identity provider of its own (spec §4.5), the demo is a page. */
const LEFT_OUT = /^(GET|POST) \/(providers\/mock\/.*|demo\/.*|latchkey-client\/.*|callback|)$/;

const ajv = new Ajv2020.default({ strict: false, allErrors: true, formats: { 'media-range': true } });
formats.default(ajv);

describe('the description of the interface', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      PUBLIC_URL,
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: 'http://127.0.0.1:1',
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the provider',
    });
  });
  afterAll(() => service?.close());

  it('has every route, and no other', () => {
    const express: Express = service.app.getHttpAdapter().getInstance();
    const served = express.router.stack.flatMap(({ route }) => {
      const methods = Object.keys(route ? (route as unknown as { methods: object }).methods : {});
      return methods.map((method) => `${method.toUpperCase()} ${route!.path.replace(/:(\w+)/g, '{$1}')}`);
    });
    const wanted = served
      .filter((name) => !LEFT_OUT.test(name))
      .map((name) => name.replace('/providers/corp/', '/providers/{name}/'));
    const described = routes.map(({ method, path }) => `${method} ${path}`);
    expect(described.toSorted()).toEqual([...new Set(wanted)].toSorted());
  });

  it('is OpenAPI 3.1, by the schema of its publisher', () => {
    const schema = readFileSync(new URL('../support/openapi/schema-3.1.json', import.meta.url), 'utf8');
    // Ajv does not find the dynamic anchor; that schemas are good is judged below.
    const validate = ajv.compile(
      JSON.parse(schema.replaceAll('"$dynamicRef": "#meta"', '"type": "object"')) as object,
    );
    expect([validate(document), validate.errors]).toEqual([true, null]);
  });

  it('has good schemas, and examples that are as they say', () => {
    ajv.addSchema(document, 'document');
    const wrong: unknown[] = [];
    let examples = 0;
    const visit = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const part = value as {
        schema?: object;
        examples?: Record<string, { value: unknown }>;
        example?: unknown;
      };
      if (part.schema) {
        const validate = ajv.getSchema(`document#${at}/schema`)!;
        const values = Object.values(part.examples ?? {}).map((example) => example.value);
        for (const example of part.example === undefined ? values : [part.example]) {
          examples++;
          if (!validate(example)) wrong.push([at, example, validate.errors]);
        }
      }
      for (const [name, inner] of Object.entries(value)) {
        visit(inner, `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
      }
    };
    visit(document.paths, '/paths');
    visit(document.components.responses, '/components/responses');
    expect(wrong).toEqual([]);
    expect(examples).toBeGreaterThan(50);
  });

  it('names every error code, and no operation twice', () => {
    const text = JSON.stringify(document);
    for (const code of Object.keys(ERROR_STATUS)) expect(text).toContain(`"${code}"`);
    const ids = routes.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    ['/docs/openapi.json', 'application/json; charset=utf-8'],
    ['/docs', 'text/html; charset=utf-8'],
  ])('%s is served with the address of the instance, and revalidated', async (path, type) => {
    const { text, headers } = await request(service.url).get(path).expect(200);
    expect([text.includes(PUBLIC_URL), text.includes('localhost')]).toEqual([true, false]);
    expect(headers).toMatchObject({ 'content-type': type, 'cache-control': 'no-cache' });
    const head = await request(service.url).head(path).expect(200);
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(text)));
    const etag = headers['etag']!;
    await request(service.url).get(path).set('If-None-Match', etag).expect(304);
    await request(service.url).post(path).expect(405).expect('Allow', 'GET, HEAD');
    await request(service.url).get(`${path}/`).expect(404);
  });

  it('is packed', () => {
    const { files } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      files: string[];
    };
    const served = ['docs/openapi.html', 'docs/openapi.json'];
    expect(files).toEqual(expect.arrayContaining(served));
    for (const name of served) expect(existsSync(new URL(`../../${name}`, import.meta.url))).toBe(true);
  });

  inChromium('the page', () => {
    let browser: Browser;

    beforeAll(async () => {
      browser = await launchChromium();
    });
    afterAll(() => browser?.close());

    it.each([
      [1280, 'light'],
      [320, 'dark'],
    ] as const)(
      'at %i px, %s: loads nothing, fits, and axe-core finds no fault',
      async (width, colorScheme) => {
        const page = await browser.newPage({
          viewport: { width, height: 800 },
          colorScheme,
          bypassCSP: false,
        });
        const [requests, complaints]: [string[], string[]] = [[], []];
        page.on('request', (one) => requests.push(one.url()));
        page.on('console', (message) => complaints.push(message.text()));
        await page.goto(`${service.url}/docs`);
        expect(requests.filter((url) => !url.startsWith('data:'))).toEqual([`${service.url}/docs`]);
        const styled = await page.evaluate('getComputedStyle(document.body).backgroundColor');
        expect(styled).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(15, 17, 21)');
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
        expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
        await page.keyboard.press('Tab');
        expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the text');
        expect(complaints).toEqual([]);
        await page.close();
      },
    );
  });
});
