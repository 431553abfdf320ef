import assert from 'node:assert/strict';
import type { ProviderAdapter } from '../../../src/provider/provider-adapter.js';
import { CODE, contains, REDIRECT_URI, SECRET, SignIn, STATE, type Play } from './sign-in.js';
import {
  startProvider,
  textOf,
  type Answering,
  type SeenRequest,
  type SimulatedAnswer,
} from './simulated-provider.js';

export type { Play, SeenRequest, SimulatedAnswer };

export interface AdapterCheck {
  readonly name: string;
  /** @throws AssertionError with the reason */
  readonly run: () => Promise<void>;
}

interface Rule {
  readonly name: string;
  /** Answers of the provider; default: `accepted` of the play. */
  readonly answers?: (play: Play) => Answering;
  readonly check: (signIn: SignIn) => Promise<void>;
}

/**
 * Lists the rules for adapters (docs/provider-adapter.md#write-an-adapter), each as a test that needs nothing
 * but Node.js.
 *
 * @example for (const { name, run } of adapterChecks(adapter, play)) test(name, run);
 */
export function adapterChecks(adapter: ProviderAdapter, play: Play): readonly AdapterCheck[] {
  const rules = adapter.issuer === 'own' ? [...RULES, OWN_ISSUER] : RULES;
  return rules.map(({ name, answers, check }) => ({
    name,
    async run() {
      const provider = await startProvider(answers?.(play) ?? play.accepted);
      try {
        await check(new SignIn(adapter, play, provider));
      } finally {
        provider.close();
      }
    },
  }));
}

const NO_GRANT_ERROR = 'invalid_grant tells the user to sign in again, which does not help';

const OWN_ISSUER: Rule = {
  name: 'the callback of another server is refused before the code is sent',
  async check(signIn) {
    const error = await signIn.failure({ iss: 'https://another-server.example' });
    assert.equal(error.error, 'invalid_grant');
    assert.equal(signIn.sent().length, 0, 'a request was sent');
  },
};

const RULES: readonly Rule[] = [
  {
    name: 'authorizationUrl and exchange are functions; issuer and check are optional',
    async check({ adapter }) {
      assert.equal(typeof adapter.authorizationUrl, 'function', 'authorizationUrl is not a function');
      assert.equal(typeof adapter.exchange, 'function', 'exchange is not a function');
      assert.ok(isOptionalFunction(adapter.check), 'check is not a function');
      assert.ok(
        adapter.issuer === 'own' || isOptionalFunction(adapter.issuer),
        "issuer is neither a function nor 'own'",
      );
    },
  },
  {
    name: 'authorizationUrl returns a URL, or { url, memory } with a small JSON object',
    async check(signIn) {
      const { url, memory = {} } = await signIn.begin();
      assert.ok(url instanceof URL, 'url is not a URL');
      assert.deepEqual(JSON.parse(JSON.stringify(memory)), memory, 'JSON changes the memory');
      assert.ok(JSON.stringify(memory).length <= 4096, 'memory is larger than 4 KiB');
    },
  },
  {
    name: 'the browser returns with state and code, and no address contains the secret',
    async check(signIn) {
      const { url } = await signIn.begin();
      assert.ok(url instanceof URL, 'url is not a URL');
      assert.ok(!contains(url.href, SECRET), 'the address contains the secret');
      const back = signIn.callback(url);
      const all = (name: string): string => back.searchParams.getAll(name).join();
      assert.equal(all('state'), STATE, 'the state is not returned unchanged');
      assert.equal(all('code') + all('ticket'), CODE, 'there is not one code');
      for (const name of ['state', 'code', 'ticket']) back.searchParams.delete(name);
      assert.equal(back.href, REDIRECT_URI, 'the browser does not return to the redirect URI');
    },
  },
  {
    name: 'check and issuer accept these settings',
    async check({ adapter, settings }) {
      await adapter.check?.(settings);
      const issuer = typeof adapter.issuer === 'function' ? await adapter.issuer(settings) : undefined;
      assert.ok(isOptionalText(issuer), 'the issuer is not a string');
    },
  },
  {
    name: 'exchange returns the identity, the same each time',
    async check(signIn) {
      for (const code of ['first', 'second']) {
        const identity = await signIn.exchange({ code });
        assert.equal(identity.provider_user_id, signIn.play.userId);
        for (const field of ['username', 'email', 'avatar_url'] as const) {
          assert.ok(isOptionalText(identity[field]), `${field} is not a string`);
        }
      }
    },
  },
  {
    name: 'exchange sends the code unchanged, and neither code nor secret in an address',
    async check(signIn) {
      await signIn.exchange();
      const { codeInAddress = false } = signIn.play;
      const requests = signIn.sent();
      const carries = ({ path, body }: SeenRequest): boolean => contains(codeInAddress ? path : body, CODE);
      assert.ok(requests.some(carries), 'no request contains the code');
      for (const { path } of requests) {
        assert.ok(!contains(path, SECRET), 'an address contains the secret');
        assert.ok(codeInAddress || !contains(path, CODE), 'an address contains the code');
      }
    },
  },
  {
    name: 'exchange fails with invalid_grant if the provider refuses the code',
    answers: ({ refused }) => refused,
    async check(signIn) {
      assert.equal((await signIn.failure()).error, 'invalid_grant');
    },
  },
  ...['<html>', '', 'null'].map((body) => ({
    name: `exchange fails, or returns no id, if the provider answers ${JSON.stringify(body)}`,
    answers: () => () => ({ body }),
    async check(signIn: SignIn) {
      const [identity, error] = await signIn.outcome();
      assert.notEqual(error?.error, 'invalid_grant', NO_GRANT_ERROR);
      assert.equal(identity?.provider_user_id, undefined);
    },
  })),
  {
    name: 'exchange reads no more than 64 KiB',
    answers: ({ accepted }) => {
      return (request) => ({ ...accepted(request), body: textOf(accepted(request)) + ' '.repeat(1_000_000) });
    },
    async check(signIn) {
      await signIn.failure();
    },
  },
  {
    name: 'exchange fails if the provider has an internal error',
    answers: () => () => ({ status: 503, body: {} }),
    async check(signIn) {
      assert.notEqual((await signIn.failure()).error, 'invalid_grant', NO_GRANT_ERROR);
    },
  },
  {
    name: 'exchange follows no redirect',
    answers: () => () => ({ status: 307, headers: { Location: '/elsewhere' } }),
    async check(signIn) {
      await signIn.failure();
      const isFollowed = signIn.sent().some(({ path }) => path === '/elsewhere');
      assert.ok(!isFollowed, 'it followed the redirect');
    },
  },
  {
    name: 'exchange ends when its signal aborts',
    answers: () => () => undefined,
    async check(signIn) {
      const signal = AbortSignal.timeout(100);
      // 1 s after the abort itself, so that a pause of the process is not counted.
      const late = new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => setTimeout(resolve, 1000, 'late').unref());
      });
      assert.notEqual(await Promise.race([signIn.outcome({ signal }), late]), 'late', 'it did not end');
    },
  },
];

function isOptionalFunction(value: unknown): boolean {
  return value === undefined || typeof value === 'function';
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
