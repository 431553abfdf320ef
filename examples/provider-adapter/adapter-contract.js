// What Latchkey requires of every adapter, as tests for node:test. It needs only Node.js: copy it beside your adapter.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';

const SECRET = 'the secret of the contract test';
const STATE = '5e'.repeat(32);
const REDIRECT_URI = 'https://app.example/callback?from=test';

/**
 * Declares the tests. They start a simulated provider on loopback; the adapter gets its address as `provider.url`.
 *
 * @param adapter the default export of your file
 * @param play what your provider answers. `accepted(request)` returns `{status, body}` for a valid code, `refused(request)`
 *   for one that was used already. They are called for each request that your adapter makes, with
 *   `{method, path, headers, body}`. `userId` is the id of the user whom `accepted` signs in. `options(url)`, if your
 *   adapter needs it, returns the other keys of its settings.
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

  /** A sign-in from the arrival of the code on; `memory` goes through JSON, as in the database. */
  async function exchange(how, { code = 'a code', iss, signal = AbortSignal.timeout(5000) } = {}) {
    answer = how;
    requests = [];
    const { memory } = await begin();
    const kept = memory === undefined ? {} : { memory: JSON.parse(JSON.stringify(memory)) };
    if (iss !== undefined) kept.iss = iss;
    requests = [];
    return adapter.exchange(provider, { code, state: STATE, redirectUri: REDIRECT_URI, signal, ...kept });
  }

  /** What the promise rejects with. An adapter's errors are logged, so they must not hold the secret. */
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
      assert.ok(page instanceof URL, 'it is not a URL');
      assert.deepEqual(JSON.parse(JSON.stringify(memory ?? {})), memory ?? {});
      assert.ok(JSON.stringify(memory ?? {}).length <= 4096, 'memory is larger than 4 KiB');
    });

    it('passes state and redirect URI on unchanged, and keeps the secret to itself', async () => {
      answer = say(accepted);
      requests = [];
      const values = [...(await begin()).url.searchParams.values()];
      assert.ok(values.includes(STATE), 'the state is missing');
      assert.ok(values.includes(REDIRECT_URI), 'the redirect URI is missing');
      assert.ok(!values.some((value) => value.includes(SECRET)), 'the secret is in the address');
    });
  });

  describe('issuer and check', () => {
    it('are left out, or are functions; issuer may also be the word own', () => {
      assert.ok(['undefined', 'function'].includes(typeof adapter.check), 'check is not a function');
      assert.ok(
        adapter.issuer === 'own' || ['undefined', 'function'].includes(typeof adapter.issuer),
        'issuer is neither a function nor own',
      );
    });

    it('accept these settings', async () => {
      answer = say(accepted);
      await adapter.check?.(provider);
      const issuer = typeof adapter.issuer === 'function' ? await adapter.issuer(provider) : undefined;
      assert.ok(['string', 'undefined'].includes(typeof issuer), 'the issuer is not a string');
    });

    it('refuse the callback of another server before the code is sent, if the adapter compares iss itself', async () => {
      if (adapter.issuer !== 'own') return; // the service compares it
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
          assert.ok(['string', 'undefined'].includes(typeof identity[field]), `${field} is not a string`);
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
      ['something other than JSON', '<html>'],
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

    it('fails when the provider has an internal error', async () => {
      const error = await failure(exchange(say(() => ({ status: 503, body: {} }))));
      assert.notEqual(error?.error, 'invalid_grant', 'the user would be told to try another code');
    });

    it('follows no redirect', async () => {
      await failure(
        exchange(say(() => ({ status: 307, headers: { Location: `${url}/elsewhere` }, body: '' }))),
      );
      assert.ok(!requests.some(({ path }) => path === '/elsewhere'), 'it followed the redirect');
    });

    it('ends when the signal says so', async () => {
      const late = new Promise((resolve) => setTimeout(resolve, 1000, 'late').unref());
      const ended = exchange(() => undefined, { signal: AbortSignal.timeout(100) }).catch(() => 'ended');
      assert.equal(await Promise.race([ended, late]), 'ended');
    });
  });
}
