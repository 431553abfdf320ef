import type { ServerResponse } from 'node:http';
import { until } from '../../../test/support/waiting.js';
import { createVerifier, type AuditStreamEvent } from '../src/index.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

/** `audit.stream()` against a service that does whatever a test needs. */
describe('audit.stream()', () => {
  let warnings: string[];
  /** `Last-Event-ID` of each connection. */
  let cursors: unknown[];
  let streams: ServerResponse[];

  const event = (n: number): string => `id: c${n}\nevent: audit\ndata: {"id":"${n}","event":"sign_in"}\n\n`;

  const service = useEach(() => FakeService.start());
  beforeEach(() => {
    [warnings, cursors, streams] = [[], [], []];
  });
  const verifier = useEach(() =>
    createVerifier({
      issuer: service.url,
      serviceKey: SERVICE_KEY,
      onWarning: (line) => warnings.push(line),
    }),
  );
  beforeEach(() => {
    service.other = ({ headers }, response) => {
      cursors.push(headers['last-event-id']);
      streams.push(response);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('event: ready\ndata: {}\nid: c0\n\n');
    };
  });

  it('yields each event with its position, and resumes after the last one', async () => {
    const stream = verifier.audit.stream({ lastEventId: 'saved' });
    const first = stream.next();
    await until(() => streams.length === 1);
    streams[0]!.write(event(1) + event(2));
    expect((await first).value).toEqual({ data: { id: '1', event: 'sign_in' }, lastEventId: 'c1' });
    expect(((await stream.next()).value as AuditStreamEvent).lastEventId).toBe('c2');
    streams[0]!.write(': c3\nid: c3\n\n');
    const third = stream.next();
    await new Promise((resolve) => setTimeout(resolve, 100)); // the comment arrives before the end
    streams[0]!.destroy();
    await until(() => streams.length === 2);
    streams[1]!.write(event(4));
    expect(((await third).value as AuditStreamEvent).lastEventId).toBe('c4');
    expect(cursors).toEqual(['saved', 'c3']);
    expect(warnings).toEqual([]);
  });

  it('ends with its signal, with break, and with close(), and closes its connection', async () => {
    const end = new AbortController();
    const waiting = verifier.audit.stream({ signal: end.signal }).next();
    await until(() => streams.length === 1);
    end.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await until(() => streams[0]!.closed);

    const loop = (async () => {
      for await (const { lastEventId } of verifier.audit.stream()) return lastEventId;
      return undefined;
    })();
    await until(() => streams.length === 2);
    streams[1]!.write(event(1));
    expect(await loop).toBe('c1');
    await until(() => streams[1]!.closed);

    const last = verifier.audit.stream().next();
    await until(() => streams.length === 3);
    verifier.close();
    expect(await last).toEqual({ done: true, value: undefined });
    expect(cursors).toEqual([undefined, undefined, undefined]);
  });

  it('reads no more than the loop takes', async () => {
    const stream = verifier.audit.stream();
    const first = stream.next();
    await until(() => streams.length === 1);
    streams[0]!.write(event(1));
    await first;
    const chunk = `: ${'x'.repeat(60_000)}\n\n`.repeat(16);
    let isFull = false;
    for (let n = 0; n < 100 && !isFull; n++) isFull = !streams[0]!.write(chunk) && n > 20;
    expect(streams[0]!.writableLength).toBeGreaterThan(1_000_000); // the buffers between hold the rest
    streams[0]!.write(event(2));
    expect(((await stream.next()).value as AuditStreamEvent).lastEventId).toBe('c2');
  });

  it.each([
    [401, '{"error":"invalid_token"}', { code: 'service_key_refused', status: 500 }],
    [403, '{"error":"insufficient_scope"}', { code: 'service_key_refused', status: 500 }],
    [404, '{"error":"not_found","error_description":"x"}', { code: 'not_found', status: 404 }],
  ])('answered with %i: an error', async (status, body, expected) => {
    service.other = (_, response) => response.writeHead(status).end(body);
    await expect(verifier.audit.stream().next()).rejects.toMatchObject(expected);
  });

  it('continues after an outage, with one warning', async () => {
    const { other } = service;
    const answers = [429, 500, 302, 200];
    service.other = (request, response, body) => {
      const status = answers.shift();
      if (status === undefined) other(request, response, body);
      else response.writeHead(status, { Location: '/' }).end('{"error":"x"}');
    };
    const next = verifier.audit.stream().next();
    await until(() => streams.length === 1);
    streams[0]!.write(event(1));
    expect((await next).value).toMatchObject({ lastEventId: 'c1' });
    expect(warnings).toEqual([expect.stringContaining('The audit trail is not received (GET /audit/stream')]);
  });
});
