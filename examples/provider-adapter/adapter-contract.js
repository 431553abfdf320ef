// What Latchkey asks of every adapter, as tests for node:test. Needs nothing but Node.js: copy it beside your adapter.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';

const SECRET = 'the secret of the contract test';
const STATE = '5e'.repeat(32);
const REDIRECT_URI = 'https://app.example/callback?from=test';

/**
 * Declares the tests. A provider is played on loopback, and the adapter gets its address as `provider.url`.
 *
 * @param adapter the default export of your file
 * @param play what your provider says: `accepted(request)` and `refused(request)` return `{status, body}`, for a code
 *   that is good, and for one that is used up; `request` is `{method, path, headers, body}`, and both are asked for
 *   each of your adapter's requests. `userId` is the id that `accepted` leads to. `options(url)`, if your adapter needs
 *   some, are the further keys of its settings.
 */
export function testAdapter(adapter, { accepted, refused, userId, options = () => ({}) }) {
  let server, url, provider, answer, requests;

  before(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', () => {
        const seen = { method: request.method, path: request.url, headers: request.headers, body };
        requests.push(seen);
        answer(seen, response);
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${server.address().port}`;
    provider = {
      name: 'test',
      adapter: 'test',
      url,
      clientId: 'app',
      clientSecret: SECRET,
      options: options(url),
    };
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const say = (of) => (request, response) => {
    const { status = 200, headers = { 'Content-Type': 'application/json' }, body } = of(request);
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

  async function begin() {
    const answered = await adapter.authorizationUrl(provider, { state: STATE, redirectUri: REDIRECT_URI });
    return answered instanceof URL ? { url: answered } : answered;
  }

  /** A sign-in that has got as far as the code; `memory` has been in the database. */
  async function exchange(how, { code = 'a code', iss, signal = AbortSignal.timeout(5000) } = {}) {
    answer = how;
    requests = [];
    const { memory } = await begin();
    const kept = memory === undefined ? {} : { memory: JSON.parse(JSON.stringify(memory)) };
    if (iss !== undefined) kept.iss = iss;
    requests = [];
    return adapter.exchange(provider, { code, state: STATE, redirectUri: REDIRECT_URI, signal, ...kept });
  }

  /** Whatever an adapter throws is logged. */
  async function failure(promise) {
    const error = await promise.then(
      (identity) => assert.fail(`resolved with ${JSON.stringify(identity)}`),
      (reason) => reason,
    );
    assert.ok(!String(error?.message).includes(SECRET), 'the message holds the client secret');
    return error;
  }

  describe('authorizationUrl', () => {
    it('is a function, as exchange is', () => {
      assert.equal(typeof adapter.authorizationUrl, 'function');
      assert.equal(typeof adapter.exchange, 'function');
    });

    it('returns a URL, or { url, memory } with a small JSON object', async () => {
      answer = say(accepted);
      requests = [];
      const { url: page, memory } = await begin();
      assert.ok(page instanceof URL, 'no URL');
      assert.deepEqual(JSON.parse(JSON.stringify(memory ?? {})), memory ?? {});
      assert.ok(JSON.stringify(memory ?? {}).length <= 4096, 'memory is larger than 4 KiB');
    });

    it('passes state and redirect URI on unchanged, and keeps the secret to itself', async () => {
      answer = say(accepted);
      requests = [];
      const values = [...(await begin()).url.searchParams.values()];
      assert.ok(values.includes(STATE), 'the state is not there');
      assert.ok(values.includes(REDIRECT_URI), 'the redirect URI is not there');
      assert.ok(!values.some((value) => value.includes(SECRET)), 'the secret is there');
    });
  });

  describe('issuer and check', () => {
    it('are left out, or functions; issuer may be the word own', () => {
      assert.ok(['undefined', 'function'].includes(typeof adapter.check), 'check is no function');
      assert.ok(
        adapter.issuer === 'own' || ['undefined', 'function'].includes(typeof adapter.issuer),
        'issuer is neither',
      );
    });

    it('take these settings', async () => {
      answer = say(accepted);
      await adapter.check?.(provider);
      const issuer = typeof adapter.issuer === 'function' ? await adapter.issuer(provider) : undefined;
      assert.ok(['string', 'undefined'].includes(typeof issuer), 'the issuer is no text');
    });

    it('refuse the callback of another server before the code goes anywhere, if the adapter judges it itself', async () => {
      if (adapter.issuer !== 'own') return; // the service does
      const error = await failure(exchange(say(accepted), { iss: 'https://another-server.example' }));
      assert.equal(error?.error, 'invalid_grant');
      assert.equal(requests.length, 0, 'something was sent');
    });
  });

  describe('exchange', () => {
    it('returns the identity, the same each time', async () => {
      for (const code of ['first', 'second']) {
        const identity = await exchange(say(accepted), { code });
        assert.equal(identity.provider_user_id, userId);
        assert.equal(typeof identity.provider_user_id, 'string');
        for (const field of ['username', 'email', 'avatar_url']) {
          assert.ok(['string', 'undefined'].includes(typeof identity[field]), `${field} is no string`);
        }
      }
    });

    it('sends the code as it is, in a body and not in an address', async () => {
      await exchange(say(accepted), { code: 'c0de_-~.42' });
      assert.ok(
        requests.some(({ body }) => body.includes('c0de_-~.42')),
        'no request has the code',
      );
      assert.ok(
        !requests.some(({ path }) => path.includes('c0de') || path.includes(encodeURIComponent(SECRET))),
      );
    });

    it('says invalid_grant when the provider refuses the code', async () => {
      const error = await failure(exchange(say(refused)));
      assert.equal(error?.error, 'invalid_grant');
    });

    for (const [name, body] of [
      ['no JSON', '<html>'],
      ['nothing', ''],
      ['null', 'null'],
    ]) {
      it(`fails, or has no id, when the provider answers ${name}`, async () => {
        const identity = await exchange(say(() => ({ body }))).catch((error) => ({ error }));
        assert.notEqual(identity.error?.error, 'invalid_grant');
        assert.equal(identity.provider_user_id, undefined);
      });
    }

    it('reads no more than 64 KiB', async () => {
      const padded = (request) => {
        const { body, ...others } = accepted(request);
        return {
          ...others,
          body: (typeof body === 'string' ? body : JSON.stringify(body)) + ' '.repeat(1_000_000),
        };
      };
      await failure(exchange(say(padded)));
    });

    it('fails when the provider has a fault of its own', async () => {
      const error = await failure(exchange(say(() => ({ status: 503, body: {} }))));
      assert.notEqual(error?.error, 'invalid_grant', 'the user would be told to try another code');
    });

    it('follows no redirect', async () => {
      await failure(
        exchange(say(() => ({ status: 307, headers: { Location: `${url}/elsewhere` }, body: '' }))),
      );
      assert.ok(!requests.some(({ path }) => path === '/elsewhere'), 'it went elsewhere');
    });

    it('ends when the signal says so', async () => {
      const late = new Promise((resolve) => setTimeout(resolve, 1000, 'late').unref());
      const ended = exchange(() => undefined, { signal: AbortSignal.timeout(100) }).catch(() => 'ended');
      assert.equal(await Promise.race([ended, late]), 'ended');
    });
  });
}
