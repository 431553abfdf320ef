import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll, buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { Scrape } from '../support/scrape.js';
import { startServiceProcess } from '../support/service-process.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { once } from 'node:events';
import { createServer } from 'node:http';

interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** OTLP: 2 server, 3 client. */
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: CollectedSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

/** Receives traces as OTLP/HTTP in JSON. */
class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Of the resource that sends them. */
  readonly resource: Record<string, unknown> = {};
  /** Everything that was sent, with the heads of the requests. */
  text = '';
  readonly server = createServer((incoming, response) => {
    void buffer(incoming).then((bytes) => {
      this.text += `${incoming.method} ${incoming.url} ${incoming.rawHeaders.join(' ')}\n${bytes.toString()}\n`;
      for (const { resource, scopeSpans } of (JSON.parse(bytes.toString()) as Export).resourceSpans) {
        Object.assign(this.resource, attributesOf(resource));
        this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
      }
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Spans that are below another one. */
  below(parent: CollectedSpan): CollectedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId);
  }
}

function attributesOf({ attributes }: Pick<CollectedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const PRELOAD = fileURLToPath(new URL('./loaded-modules.cjs', import.meta.url));
const SERVER = 2;
const CLIENT = 3;

/** Traces, and METRICS_PORT, of the service as a process (docs/metrics.md). */
describe('traces and metrics of a process', () => {
  let provider: StubProvider;
  let collector: TraceCollector;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-traces-'));

  beforeAll(async () => {
    provider = await StubProvider.start();
    collector = new TraceCollector();
    await once(collector.server, 'listening');
    database = await createDatabase();
  });
  afterAll(async () => {
    collector?.server.close().closeAllConnections();
    await provider?.close();
    await database?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const file = join(dir, 'loaded');
  const env = (more: Record<string, string> = {}): Record<string, string> => ({
    DATABASE_URL: database.url,
    ...provider.env(),
    NODE_OPTIONS: `--require ${PRELOAD}`,
    LOADED_MODULES: file,
    ...more,
  });
  const loaded = (): string[] => readFileSync(file, 'utf8').split('\n');
  const spanOf = async (
    name: string,
    is: (span: CollectedSpan) => boolean = () => true,
  ): Promise<CollectedSpan> => {
    const find = () => collector.spans.find((span) => span.name === name && is(span));
    await until(() => find() !== undefined);
    return find()!;
  };

  it('traces each request and its calls, continues a trace, and exports no secret', async () => {
    const metricsPort = String(await freePort());
    const service = await startServiceProcess(
      env({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=acme',
        OTEL_BSP_SCHEDULE_DELAY: '50',
        METRICS_PORT: metricsPort,
        SHUTDOWN_DELAY: '3',
      }),
    );
    const { url } = service;
    const device_id = randomUUID();
    const code = `code-${randomUUID()}`;
    const state = await beginSignIn(url);
    const signedIn = await request(url).post('/oauth2/token').send({ code, state, device_id }).expect(200);
    const tokens = signedIn.body as Tokens;
    const [traceId, parent] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    const refreshed = await request(url)
      .post('/oauth2/refresh?secret=in-the-query')
      .set('traceparent', `00-${traceId}-${parent}-01`)
      .send(tokens)
      .expect(200);
    const refresh = await spanOf('POST /oauth2/refresh');
    expect(refresh).toMatchObject({ traceId, parentSpanId: parent, kind: SERVER });
    expect(attributesOf(refresh)).toEqual({
      'http.route': '/oauth2/refresh',
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'latchkey.request_id': refreshed.headers['x-request-id'],
    });
    expect(collector.below(refresh)).toEqual([
      expect.objectContaining({ name: 'refresh', traceId, kind: CLIENT }),
    ]);

    const token = await spanOf('POST /oauth2/token');
    expect(collector.below(token).map(({ name }) => name)).toEqual([
      'state-consume',
      'provider exchange',
      'sign-in',
      'ended-since', // for a user who is new
    ]);
    expect(attributesOf(collector.below(token)[1]!)).toEqual({ 'latchkey.provider': 'stub' });

    // A transaction of TypeORM, in which the pool hands the connection on.
    const device_name = `name-${randomUUID()}`;
    await bearer(url, tokens.access_token).patch(`/devices/${device_id}`, { device_name }).expect(200);
    const rename = await spanOf('PATCH /devices/:device_id');
    const names = collector.below(rename).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['access-token', 'COMMIT']));
    for (const span of collector.below(rename)) expect(span.traceId).toBe(rename.traceId);

    const refused = await request(url).post('/oauth2/token').send({ code, state }).expect(401);
    const repeated = await spanOf('POST /oauth2/token', (span) => span.spanId !== token.spanId);
    expect(attributesOf(repeated)).toMatchObject({
      'error.type': 'invalid_grant',
      'latchkey.request_id': refused.headers['x-request-id'],
    });
    expect(collector.resource).toMatchObject({ 'service.name': 'latchkey' });

    // METRICS_PORT serves the metrics alone, also during SHUTDOWN_DELAY.
    const metrics = request(`http://localhost:${metricsPort}`);
    await request(url).get('/metrics').expect(404);
    await metrics.get('/health/live').expect(404);
    await metrics.post('/metrics').expect(405);
    await metrics.head('/metrics').expect(200);
    const malformed = connect(Number(metricsPort), 'localhost').end('x\r\n\r\n');
    expect(await readAll(malformed)).toContain('{"error":"invalid_request"');
    const stopped = service.end('SIGTERM');
    await until(async () => (await request(url).get('/health/ready')).status === 503);
    const answer = await metrics.get('/metrics?x=%FF').expect(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    const scrape = new Scrape(answer.text);
    expect(scrape.sum('latchkey_ready')).toBe(0);
    expect(scrape.sum('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(scrape.sum('process_cpu_seconds_total')).toBeGreaterThan(0);
    const last = await request(url).get('/health/live').expect(200);
    expect(await stopped).toBe(0);
    expect(collector.text).toContain(last.headers['x-request-id']); // sent before it ended
    expect(collector.text).toContain('x-tenant acme');
    expect(loaded().some((path) => path.includes('@opentelemetry/sdk-trace-node'))).toBe(true);

    const secrets = [
      code,
      state,
      device_id,
      device_name,
      tokens.user_id,
      'in-the-query',
      'a client secret of the stub',
    ];
    const { access_token } = refreshed.body as Tokens;
    for (const secret of [...secrets, tokens.access_token, tokens.refresh_token, access_token])
      expect(collector.text).not.toContain(secret);
  });

  it('works without the collector, warns once, and ends in time', async () => {
    const service = await startServiceProcess(
      env({
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${await freePort()}/v1/traces`,
        OTEL_BSP_SCHEDULE_DELAY: '10',
        OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      }),
    );
    await signIn(service.url);
    await until(() => service.output().includes('traces cannot be exported'));
    for (let i = 0; i < 20; i++) await request(service.url).get('/health/live').expect(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.output().split('traces cannot be exported')).toHaveLength(2);
  });

  it.each<[string, Record<string, string>]>([
    ['without their variables', {}],
    [
      'where they are switched off',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' },
    ],
  ])('%s, no file of OpenTelemetry is loaded', async (_name, variables) => {
    const service = await startServiceProcess(env(variables));
    await signIn(service.url);
    await request(service.url).get('/metrics').expect(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(loaded().filter((path) => path.includes('prom-client')).length).toBeGreaterThan(5);
    expect(loaded().filter((path) => path.includes('@opentelemetry'))).toEqual([]);
  });

  it('a port for metrics that is taken stops the start', async () => {
    const METRICS_PORT = new URL(collector.url).port;
    await expect(
      startTestService({ METRICS_PORT, HOST: '127.0.0.1', DATABASE_URL: database.url }),
    ).rejects.toThrow(
      `Port ${METRICS_PORT} is taken by another program. Stop that program, or set METRICS_PORT to another port.`,
    );
  });
});
