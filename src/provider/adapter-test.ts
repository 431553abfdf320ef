import assert from 'node:assert/strict';
import type { Play } from './adapter-test/play.js';
import { CODE, isIn, REDIRECT_URI, SECRET, STATE } from './adapter-test/secrets.js';
import { SignIn } from './adapter-test/sign-in.js';
import {
  SimulatedProvider,
  textOf,
  type Answering,
  type SeenRequest,
  type SimulatedAnswer,
} from './adapter-test/simulated-provider.js';
import { failure, outcome } from './adapter-test/thrown.js';
import type { ProviderAdapter } from './provider-adapter.js';

export type { Play, SeenRequest, SimulatedAnswer };

/** One rule, for any test runner: `for (const { name, run } of adapterChecks(…)) test(name, run)`. */
export interface AdapterCheck {
  readonly name: string;
  /** @throws an AssertionError that says what is wrong */
  readonly run: () => Promise<void>;
}

/** What Latchkey requires of every adapter (contract §6), each rule as a test that needs nothing but Node.js. */
export function adapterChecks(adapter: ProviderAdapter, play: Play): readonly AdapterCheck[] {
  const { accepted, refused, userId } = play;
  const checks: AdapterCheck[] = [];

  /** Adds a rule; the provider answers as `how` says. */
  function rule(name: string, how: Answering, check: (signIn: SignIn) => Promise<void>): void {
    const run = async (): Promise<void> => {
      const provider = await SimulatedProvider.start(how);
      try {
        await check(new SignIn(adapter, provider, play));
      } finally {
        provider.close();
      }
    };
    checks.push({ name, run });
  }

  rule(
    'authorizationUrl and exchange are functions; issuer and check may be left out',
    accepted,
    async () => {
      assert.equal(typeof adapter.authorizationUrl, 'function', 'authorizationUrl is not a function');
      assert.equal(typeof adapter.exchange, 'function', 'exchange is not a function');
      assert.ok(isOptional(adapter.check), 'check is not a function');
      assert.ok(
        adapter.issuer === 'own' || isOptional(adapter.issuer),
        'issuer is neither a function nor own',
      );
    },
  );

  rule(
    'authorizationUrl returns a URL, or { url, memory } with a small JSON object',
    accepted,
    async (signIn) => {
      const { url, memory = {} } = await signIn.begin();
      assert.ok(url instanceof URL, 'it is not a URL');
      assert.deepEqual(JSON.parse(JSON.stringify(memory)), memory, 'memory is changed by JSON');
      assert.ok(JSON.stringify(memory).length <= 4096, 'memory is larger than 4 KiB');
    },
  );

  rule(
    'the browser comes back with state and code, and the secret is in no address',
    accepted,
    async (signIn) => {
      const { url } = await signIn.begin();
      assert.ok(url instanceof URL, 'it is not a URL');
      assert.ok(!isIn(SECRET, url.href), 'the secret is in the address');
      const back = new URL(signIn.callback(url));
      const all = (name: string): string => back.searchParams.getAll(name).join(' and ');
      assert.equal(all('state'), STATE, 'the state does not come back, once and unchanged');
      assert.equal(all('code') + all('ticket'), CODE, 'there is not one code');
      for (const name of ['state', 'code', 'ticket']) back.searchParams.delete(name);
      assert.equal(back.href, REDIRECT_URI, 'it is not the redirect URI');
    },
  );

  rule('check and issuer accept these settings', accepted, async ({ settings }) => {
    await adapter.check?.(settings);
    const issuer = typeof adapter.issuer === 'function' ? await adapter.issuer(settings) : undefined;
    assert.ok(['string', 'undefined'].includes(typeof issuer), 'the issuer is not a string');
  });

  if (adapter.issuer === 'own') {
    rule('the callback of another server is refused before the code is sent', accepted, async (signIn) => {
      const error = await failure(signIn.exchange({ iss: 'https://another-server.example' }));
      assert.equal(error.error, 'invalid_grant');
      assert.equal(signIn.sent().length, 0, 'something was sent');
    });
  }

  rule('exchange returns the identity, the same each time', accepted, async (signIn) => {
    for (const code of ['first', 'second']) {
      const identity = await signIn.exchange({ code });
      assert.equal(identity.provider_user_id, userId);
      assert.equal(typeof identity.provider_user_id, 'string');
      for (const field of ['username', 'email', 'avatar_url'] as const) {
        assert.ok(['string', 'undefined'].includes(typeof identity[field]), `${field} is not a string`);
      }
    }
  });

  rule(
    'exchange sends the code as it is, and neither code nor secret in an address',
    accepted,
    async (signIn) => {
      await signIn.exchange();
      const requests = signIn.sent();
      const holds = ({ path, body }: SeenRequest): boolean => isIn(CODE, play.codeInAddress ? path : body);
      assert.ok(requests.some(holds), 'no request has the code');
      const secrets = play.codeInAddress ? [SECRET] : [SECRET, CODE];
      assert.ok(
        !requests.some(({ path }) => secrets.some((secret) => isIn(secret, path))),
        'the code or the secret is in an address',
      );
    },
  );

  rule('exchange says invalid_grant when the provider refuses the code', refused, async (signIn) => {
    assert.equal((await failure(signIn.exchange())).error, 'invalid_grant');
  });

  for (const [name, body] of [
    ['something that it should not', '<html>'],
    ['nothing', ''],
    ['null', 'null'],
  ] as const) {
    rule(
      `exchange fails, or has no id, when the provider answers ${name}`,
      () => ({ body }),
      async (signIn) => {
        const [identity, error] = await outcome(signIn.exchange());
        assert.notEqual(error?.error, 'invalid_grant', 'the user would be told to try another code');
        assert.equal(identity?.provider_user_id, undefined);
      },
    );
  }

  const padded: Answering = (request) => {
    const answer = accepted(request);
    return { ...answer, body: textOf(answer) + ' '.repeat(1_000_000) };
  };
  rule('exchange reads no more than 64 KiB', padded, async (signIn) => {
    await failure(signIn.exchange());
  });

  rule(
    'exchange fails when the provider has an internal error',
    () => ({ status: 503, body: {} }),
    async (signIn) => {
      const error = await failure(signIn.exchange());
      assert.notEqual(error.error, 'invalid_grant', 'the user would be told to try another code');
    },
  );

  const elsewhere: Answering = () => ({ status: 307, headers: { Location: '/elsewhere' } });
  rule('exchange follows no redirect', elsewhere, async (signIn) => {
    await failure(signIn.exchange());
    assert.ok(!signIn.sent().some(({ path }) => path === '/elsewhere'), 'it followed the redirect');
  });

  rule(
    'exchange ends when the signal says so',
    () => undefined,
    async (signIn) => {
      const signal = AbortSignal.timeout(100);
      // Counted from its abort: a machine that stands still before is not the adapter's fault.
      const late = new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => setTimeout(resolve, 1000, 'late').unref());
      });
      const ended = outcome(signIn.exchange({ signal }));
      assert.notEqual(await Promise.race([ended, late]), 'late', 'it went on');
    },
  );

  return checks;
}

function isOptional(method: unknown): boolean {
  return method === undefined || typeof method === 'function';
}
