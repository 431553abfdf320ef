import { request as send, type IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { EXAMPLE } from '../../openapi/examples.js';
import { document, routes, tokenOf, type Route } from './document.js';
import { query as queryDatabase } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

interface Sent extends Route {
  readonly type?: string;
  readonly body?: string;
}

/** Each body of each call in each form that it may have; calls without a body once, with the examples of parameters. */
const all: [string, Sent][] = routes.filter(isOfApplications).flatMap((route): [string, Sent][] => {
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

/** Whether applications make the call; stock-clients.spec.ts and backchannel-logout.spec.ts make the calls of providers. */
function isOfApplications({ path }: Route): boolean {
  return !path.startsWith('/providers/');
}

/** The environment of the tests compares the answers with the document. */
describe('every example of the document', () => {
  const provider = use(() => StubProvider.start());
  beforeAll(() => {
    provider.answer = ({ body }, response) => {
      const code = new URLSearchParams(body).get('code');
      const identity = JSON.stringify({ provider_user_id: code, username: 'Ada' });
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(identity);
    };
  });
  const service = use(() =>
    startTestService({
      AGENTS_FILE: 'examples/mcp/agents.json',
      DEVICE_GRANT: 'push',
      ...provider.env('STUB'),
      ...provider.env('MOCK'),
      ...provider.env('CORP'),
      ...provider.env('OPENID'),
      PROVIDERS_OPENID_ADAPTER: 'oidc',
      PROVIDERS_OPENID_ID_JAG: 'on',
      PROVIDERS_STUB_LINKS: 'mock',
      PROVIDERS_CORP_SCIM_TOKEN: 'a-token-of-the-directory-with-enough-characters',
      SERVICE_KEYS: SERVICE_KEY,
    }),
  );

  /** Replaces values of the examples by values of a new user with a session on the examples' device. */
  async function live(path: string): Promise<(sample: string) => string> {
    const user = randomUUID();
    const tokens = await signIn(service.url, user, { device_id: EXAMPLE.deviceId });
    const identity = /\/identities(\/|$)/.test(path) && (await proveIdentity(path, tokens, user));
    const state =
      identity ||
      (await beginSignIn(service.url, {
        provider: EXAMPLE.provider,
        redirect_uri: EXAMPLE.redirectUri,
        code_challenge: EXAMPLE.codeChallenge,
        code_challenge_method: 'S256',
      }));
    const { body: test } = (await bearer(service.url, SERVICE_KEY)
      .post('/admin/providers/corp/test')
      .expect(200)) as { body: { state: string } };
    const begun = await fetch(`${service.url}/oauth2/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'my-cli' }),
    });
    const asked: unknown = await begun.json();
    await queryDatabase(
      service.databaseUrl,
      `INSERT INTO agent_devices (user_id, device_id, session_id, client_id, client_name, resource, scope,
         authentication, provider, refused_at, allowed_at, ends_at)
       VALUES ($1, $2, $1, 'a', 'A', 'r', 's', '{}', 'openid', now(), now(), now())`,
      [tokens.user_id, EXAMPLE.deviceId],
    );
    const values: [string, string][] = [
      [EXAMPLE.state, state],
      [EXAMPLE.testState, test.state],
      [EXAMPLE.code, user],
      [EXAMPLE.accessToken, tokens.access_token],
      [EXAMPLE.refreshToken, tokens.refresh_token],
      [EXAMPLE.userId, tokens.user_id],
      [EXAMPLE.userCode, (asked as { user_code: string }).user_code],
      ['"mock","provider_user_id"', '"stub","provider_user_id"'],
      ['"github"', '"mock"'],
      [EXAMPLE.providerUserId, user],
      [EXAMPLE.idempotencyKey, randomUUID()],
    ];
    return (sample) => values.reduce((so, [example, living]) => so.replaceAll(example, living), sample);
  }

  /** @returns the state of a joining, or the token of a merge; undefined: the identity is joined */
  async function proveIdentity(path: string, { access_token }: Tokens, user: string) {
    if (path.endsWith('/merge')) {
      const of = { code: user, state: await beginSignIn(service.url, { provider: 'mock' }) };
      await fetch(`${service.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(of) });
    }
    const caller = bearer(service.url, access_token);
    const { body: begun } = await caller.post('/me/identities', { provider: 'mock' });
    const { state } = begun as { state: string };
    if (!/(merge|\})$/.test(path)) return state;
    const { body } = await caller.post('/me/identities/complete', { code: user, state });
    return (body as { merge_token?: string }).merge_token;
  }

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
    const alive = await live(path);
    const token = tokenOf(operation);
    const parameters = operation.parameters ?? [];
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let at = path;
    for (const { name, in: place, example } of parameters) {
      if (example === undefined) continue;
      if (place === 'path') at = at.replace(`{${name}}`, encodeURIComponent(example));
      if (place === 'query') query.set(name, example);
      if (place === 'header') headers[name] = alive(example);
    }
    if (token)
      headers['Authorization'] =
        `Bearer ${token === 'accessToken' ? alive(EXAMPLE.accessToken) : SERVICE_KEY}`;
    if (type !== undefined) headers['Content-Type'] = type;
    const url = `${service.url}${alive(at)}${query.size > 0 ? `?${query.toString()}` : ''}`;
    const call = send(url, { method, headers }).end(body === undefined ? undefined : alive(body));
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
