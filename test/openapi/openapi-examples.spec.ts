import { request as send, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { EXAMPLE } from '../../openapi/examples.js';
import { document, routes, tokenOf, type Route } from '../support/openapi/document.js';
import { LivingService, SERVICE_KEY } from '../support/openapi/living-values.js';

interface Sent extends Route {
  readonly type?: string;
  readonly body?: string;
}

/** Each body of each call in each form that it may have; calls without a body once, with the examples of parameters. */
const all: [string, Sent][] = routes.filter(isWhole).flatMap((route): [string, Sent][] => {
  const name = `${route.method} ${route.path}`;
  const content = Object.entries(route.operation.requestBody?.content ?? {});
  if (content.length === 0) return [[name, route]];
  return content.flatMap(([type, { examples = {} }]) =>
    Object.values(examples).map(({ summary, value }): [string, Sent] => {
      const form = new URLSearchParams(value as Record<string, string>).toString();
      const body = type === 'application/json' ? JSON.stringify(value) : form;
      return [`${name}: ${summary}, ${type}`, { ...route, type, body }];
    }),
  );
});

/** The callback of stock clients only ends what a browser has begun: test/auth/stock-clients.spec.ts sends that. */
function isWhole({ operation: { responses } }: Route): boolean {
  return Object.keys(responses).some((status) => status.startsWith('2'));
}

/** What those answers are is judged by the environment of the tests. */
describe('every example of the document', () => {
  let living: LivingService;

  beforeAll(async () => {
    living = await LivingService.start();
  });
  afterAll(() => living?.close());

  it('has a body for each call that takes one', () => {
    const bare = routes.filter(({ operation: { requestBody } }) =>
      Object.values(requestBody?.content ?? {}).some(
        ({ examples }) => Object.keys(examples ?? {}).length === 0,
      ),
    );
    expect(bare).toEqual([]);
    expect(all.length).toBeGreaterThan(routes.length);
  });

  it.each(all)('%s', async (_name, { method, path, operation, type, body }) => {
    const live = await living.live();
    const token = tokenOf(operation);
    const parameters = operation.parameters ?? [];
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let at = path;
    for (const { name, in: place, example } of parameters) {
      if (example === undefined) continue;
      if (place === 'path') at = at.replace(`{${name}}`, encodeURIComponent(example));
      if (place === 'query') query.set(name, example);
      if (place === 'header') headers[name] = live(example);
    }
    if (token)
      headers['Authorization'] =
        `Bearer ${token === 'accessToken' ? live(EXAMPLE.accessToken) : SERVICE_KEY}`;
    if (type !== undefined) headers['Content-Type'] = type;
    const url = `${living.url}${live(at)}${query.size > 0 ? `?${query.toString()}` : ''}`;
    const call = send(url, { method, headers }).end(body === undefined ? undefined : live(body));
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    const isEndless = answer.headers['content-type'] === 'text/event-stream';
    const answered = isEndless ? '' : await text(answer);
    call.destroy();
    const wanted = Object.keys(operation.responses).filter((status) => /^[23]/.test(status));
    expect([answered, wanted]).toEqual([answered, expect.arrayContaining([String(answer.statusCode)])]);
  });

  it('documents all tags that calls have', () => {
    const tags = new Set(routes.flatMap(({ operation }) => operation.tags));
    expect([...tags].toSorted()).toEqual(document.tags.map(({ name }) => name).toSorted());
  });
});
