import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request, { type Response } from 'supertest';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';

const LOGO = '/brand/logo';
const IMAGE = `<img class="logo" src="${LOGO}"`;
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><style>g{fill:red}</style><g/></svg>';
const PNG = Buffer.from('\x89PNG\r\n\x1a\nand more', 'latin1');

/** The operator's name, logo and colour on the pages for people (docs/brand.md). */
describe('the brand', () => {
  const endings = new Endings();
  let folder: string;
  let branded: TestService;
  let withPng: TestService;
  let plain: TestService;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-brand-'));
    const [svg, png] = [join(folder, 'logo.svg'), join(folder, 'logo.png')];
    writeFileSync(svg, SVG);
    writeFileSync(png, PNG);
    const stub = endings.after(await StubProvider.start(), (one) => one.close());
    const env = { ...stub.env(), REDIRECT_URIS: REDIRECT_URI, DEVICE_GRANT: 'on' };
    const start = async (more: Record<string, string>): Promise<TestService> =>
      endings.after(await startTestService({ ...env, ...more }), (one) => one.close());
    branded = await start({ BRAND_NAME: 'Acme & <Söhne>', BRAND_LOGO_FILE: svg, BRAND_COLOR: '#FFEE00' });
    withPng = await start({ BRAND_LOGO_FILE: png });
    plain = await start({});
  });
  afterAll(async () => {
    await endings.run();
    rmSync(folder, { recursive: true });
  });

  const get = (service: TestService, path: string) =>
    request(service.url).get(path).set('Accept', 'text/html');
  const asked = (more: object = {}): string =>
    `/oauth2/authorize?${new URLSearchParams(new StockClient().authorizationRequest({ ...more }) as Record<string, string>).toString()}`;
  const sample = { client_id: 'latchkey', redirect_uri: REDIRECT_URI, state: '0f'.repeat(32) };

  const PAGES: readonly (readonly [string, string, number, string])[] = [
    ['choice of providers', asked(), 200, 'Sign in'],
    ['page for devices', '/device', 200, 'Sign in a device'],
    ['refusal', asked({ redirect_uri: 'https://elsewhere.example/cb' }), 400, 'Sign in'],
    [
      'callback that cannot go on',
      `/providers/stub/callback?code=a&state=${'0f'.repeat(32)}`,
      400,
      'Sign in',
    ],
    [
      "sample provider's form",
      `/providers/mock/oauth2/authorize?${new URLSearchParams(sample).toString()}`,
      200,
      'Sample identity provider',
    ],
    ["sample provider's refusal", '/providers/mock/oauth2/authorize', 400, 'Sample identity provider'],
    ['path without a page', '/nothing/here', 404, 'Sign in'],
  ];

  it.each(PAGES)(
    'is on the %s, and not on that of a service without one',
    async (_name, path, status, own) => {
      const { text, headers } = await get(branded, path).expect(status);
      expect(text).toContain(`${IMAGE} alt="" />Acme &amp; &lt;Söhne&gt;</p>`);
      expect(text).toMatch(/--accent: #[0-9a-f]{6}/);
      expect(headers['content-security-policy']).toContain("img-src 'self' data:");
      expect(headers['content-security-policy']).not.toContain('unsafe');

      const other = await get(plain, path).expect(status);
      expect(other.text).toContain(`${own}</p>`);
      expect(other.text).not.toContain('<img');
      expect(other.headers['content-security-policy']).not.toContain("'self' data:");
    },
  );

  it('keeps the name of each page beside a logo alone', async () => {
    const { text } = await get(withPng, '/device').expect(200);
    expect(text).toContain(`${IMAGE} alt="" />Sign in a device</p>`);
  });

  it.each([
    ['an SVG', () => branded, 'image/svg+xml', Buffer.from(SVG)],
    ['a PNG', () => withPng, 'image/png', PNG],
  ])('serves %s, which can run and load nothing', async (_name, service, type, content) => {
    const { headers, body } = await request(service().url).get(LOGO).buffer(true).parse(toBuffer).expect(200);
    expect(body).toEqual(content);
    const expected = {
      'content-type': type,
      'content-length': String(content.length),
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
    };
    expect(headers).toMatchObject(expected);
    const head = await request(service().url).head(LOGO).expect(200);
    expect(head.headers).toMatchObject(expected);
    await request(service().url).post(LOGO).expect(404);
    await request(service().url).get(`${LOGO}/more`).expect(404);
  });

  it('has no address for a logo that is not set', async () => {
    const { body } = await request(plain.url).get(LOGO).expect(404);
    expect(body).toMatchObject({ error: 'not_found' });
    await request(plain.url).head(LOGO).expect(404);
  });
});

function toBuffer(response: Response, done: (error: Error | null, body: Buffer) => void): void {
  const stream = response as unknown as NodeJS.ReadableStream;
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.on('end', () => done(null, Buffer.concat(parts)));
}
