import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { OpenIdStub } from '../../test/support/openid-stub.js';
import { providerSettings } from '../../test/support/stub-provider.js';
import { providerKeys } from '../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../platform/config/settings/settings.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { Events } from '../platform/events.js';
import { traceWith, type Tracer } from '../platform/spans.js';
import { OidcAdapter } from './adapters/oidc.adapter.js';
import { Provider } from './provider.js';
import type { ExchangeRequest, ProviderAdapter } from './provider-adapter.js';
import { ProviderHttp } from './transport/provider-http.js';

const REQUEST = { state: 's', redirectUri: 'https://app.example/cb' };
const CODE = { ...REQUEST, code: 'c' };
const NOTHING = { subject: null, session: null, idToken: null };
const secretive = providerSettings('corp', { clientSecret: 's3cret' });
const PAGE = new URL('https://id.example/login');
const never = (): Promise<never> => new Promise(() => undefined);

const redeem: ProviderAdapter['exchange'] = () =>
  Promise.resolve({
    provider_user_id: 'u',
    subject: 'sub',
    session: 'sid',
    auth_time: 7,
    acr: '1',
    amr: ['pwd'],
    id_token: 'e30.e30.',
  });

/** Working adapter with some own methods. */
const adapterOf = (own: Partial<ProviderAdapter> = {}): ProviderAdapter => ({
  authorizationUrl: () => PAGE,
  exchange: redeem,
  ...own,
});

const providerOf = (
  own: Partial<ProviderAdapter>,
  { settings = providerSettings('corp'), ms = 5000, events = new Events() } = {},
): Provider => new Provider(settings, adapterOf(own), ms, events);

const failure = (work: Promise<unknown>): Promise<OAuthError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error as OAuthError,
  );

/** An error with a code, as adapters throw it. */
const refusal = (error: unknown): Error => Object.assign(new Error('refused'), { error });

describe('a provider', () => {
  describe('authorizationUrl', () => {
    it('rejects text', async () => {
      const authorizationUrl = () => ({ url: 'https://id.example' as never, memory: {} });
      const error = await failure(providerOf({ authorizationUrl }).authorizationUrl(REQUEST));
      expect(error).toMatchObject({
        error: 'server_error',
        cause: new Error('the adapter made no URL'),
      });
    });
  });

  describe('exchange', () => {
    it('keeps what is required of the authentication beside the memory of the adapter, which does not see it', async () => {
      const exchange = jest.fn(redeem);
      const provider = providerOf({
        exchange,
        authorizationUrl: () => ({ url: PAGE, memory: { a: 1 } }),
      });
      const params = { max_age: '60', acr_values: 'gold' };
      const { memory } = await provider.authorizationUrl({ ...REQUEST, params });
      expect(memory).toMatchObject({ a: 1 });
      const stored = JSON.parse(JSON.stringify(memory)) as object; // as the database keeps it
      expect(await failure(provider.exchange({ ...CODE, memory: { ...stored } }))).toMatchObject({
        error: 'invalid_grant',
      });
      expect(exchange.mock.calls[0]![1].memory).toEqual({ a: 1 });
    });

    // Only `oidc` has logout tokens.
    it.each([
      ['oauth2', { ...NOTHING, authTime: null, acr: null, amr: null }],
      ['./own.js', { ...NOTHING, authTime: 7, acr: '1', amr: ['pwd'] }],
      ['oidc', { subject: 'sub', session: 'sid', authTime: 7, acr: '1', amr: ['pwd'], idToken: 'e30.e30.' }],
    ])(
      'returns names and ID token for oidc only, and the authentication not without an ID token: %s',
      async (adapter, names) => {
        const settings = providerSettings('corp', { adapter });
        expect(await providerOf({}, { settings }).exchange(CODE)).toEqual({
          providerUserId: 'u',
          username: null,
          email: null,
          avatarUrl: null,
          claims: {},
          sessionExpiry: null,
          refreshToken: null,
          proof: { isEmailVerified: false, hostedDomain: undefined, claims: {} },
          names: {},
          overlay: {},
          facts: {},
          ...names,
        });
      },
    );
  });

  // Mapped by `error`, not by status.
  describe('an error of the adapter', () => {
    const credentials = 'the provider does not accept the client credentials';
    const fault = 'the identity provider cannot be used right now';
    it.each<[string, unknown, string, string]>([
      [
        'invalid_grant',
        refusal('invalid_grant'),
        'invalid_grant',
        'the provider does not accept the authorization code',
      ],
      ['invalid_client', refusal('invalid_client'), 'invalid_client', credentials],
      [
        'invalid_request',
        refusal('invalid_request'),
        'invalid_request',
        'the provider does not accept the request',
      ],
      [
        'access_denied',
        refusal('access_denied'),
        'access_denied',
        'the identity provider does not let this account in',
      ],
      ['no code', new Error('away'), 'server_error', fault],
      ['null', null, 'server_error', fault],
    ])('%s is mapped', async (_name, thrown, error, description) => {
      const throwing = (): never => {
        throw thrown;
      };
      for (const work of [
        providerOf({ authorizationUrl: throwing }).authorizationUrl(REQUEST),
        // oxlint-disable-next-line prefer-promise-reject-errors -- an adapter may throw anything
        providerOf({ exchange: () => Promise.reject(thrown) }).exchange(CODE),
      ]) {
        const mapped = await failure(work);
        expect(mapped).toBeInstanceOf(OAuthError);
        expect(mapped).toMatchObject({ error, description });
        expect(mapped.cause).toBe(thrown);
      }
    });
  });

  // 5 s in all (docs/security.md#providers).
  describe('the deadline', () => {
    it('rejects the exchange and aborts the signal', async () => {
      let seen: ExchangeRequest | undefined;
      let aborted: unknown;
      const exchange = (_settings: unknown, request: ExchangeRequest): Promise<never> => {
        seen = request;
        return new Promise((_, reject) =>
          request.signal.addEventListener('abort', () => {
            aborted = request.signal.reason;
            reject(refusal('invalid_grant')); // too late
          }),
        );
      };
      const error = await failure(providerOf({ exchange }, { ms: 50 }).exchange(CODE));
      expect(error).toMatchObject({
        error: 'server_error',
        cause: { message: 'timed out after 50 ms', code: 'ETIMEDOUT' },
      });
      expect(seen?.signal.aborted).toBe(true);
      expect(aborted).toBeDefined();
    });

    it('prevents that the code is sent later', async () => {
      const exchange = jest.fn(redeem);
      let late: (issuer: string) => void = () => undefined;
      const issuer = (): Promise<string> => new Promise((resolve) => (late = resolve));
      const provider = providerOf({ exchange, issuer }, { ms: 20 });
      await failure(provider.exchange({ ...CODE, iss: 'https://id.example' }));
      late('https://id.example');
      await new Promise((resolve) => setImmediate(resolve));
      expect(exchange).not.toHaveBeenCalled();
    });

    it('is 5 s by default, and its timer is cleared', async () => {
      jest.useFakeTimers();
      try {
        const provider = new Provider(providerSettings('corp'), adapterOf({ authorizationUrl: never }));
        const work = failure(provider.authorizationUrl(REQUEST));
        await jest.advanceTimersByTimeAsync(4999);
        expect(jest.getTimerCount()).toBe(1);
        await jest.advanceTimersByTimeAsync(1);
        expect((await work).cause).toMatchObject({ message: 'timed out after 5000 ms' });
        await new Provider(providerSettings('corp'), adapterOf()).exchange(CODE);
        expect(jest.getTimerCount()).toBe(0);
      } finally {
        jest.useRealTimers();
      }
    });
  });

  describe('the issuer of the callback', () => {
    let stub: OpenIdStub;
    let http: ProviderHttp;
    let settings: ProviderSettings;
    beforeAll(async () => {
      stub = await OpenIdStub.start();
    });
    afterAll(() => stub?.close());
    beforeEach(() => {
      stub.reset();
      http = new ProviderHttp();
      settings = stub.settings();
    });
    afterEach(() => http.onApplicationShutdown());
    const oidc = (events = new Events()): Provider =>
      new Provider(settings, new OidcAdapter(http), 5000, events);
    const announced = { authorization_response_iss_parameter_supported: true };

    // RFC 9207 §2.4: `iss` is required at our callback if the provider's discovery announces it.
    it('is required at our callback if the provider announces it', async () => {
      stub.metadata = announced;
      const error = await failure(oidc().exchange({ ...CODE, memory: {} }, true));
      expect(error).toMatchObject({
        error: 'invalid_grant',
        cause: { message: 'the callback names no issuer: invalid_grant' },
      });
      expect(await failure(oidc().checkIssuer(undefined))).toMatchObject({ error: 'invalid_grant' });
      expect(stub.paths).not.toContain('/token');
    });

    it('is optional at a callback of the client', async () => {
      stub.metadata = announced;
      const memory = { codeVerifier: 'v'.repeat(43), nonce: 'n' };
      expect(await oidc().exchange({ ...CODE, memory })).toMatchObject({ providerUserId: 'ada' });
    });

    it('is optional if the provider does not announce it', async () => {
      await expect(oidc().checkIssuer(undefined)).resolves.toBeUndefined();
    });

    const ISS = 'https://id.example';
    const compared = (issuer: unknown, own?: string): Promise<void> =>
      providerOf({ issuer } as Partial<ProviderAdapter>, {
        settings: providerSettings('corp', own === undefined ? {} : { issuer: own }),
      }).checkIssuer(ISS);

    // Other comparisons: test/attacks/mix-up.spec.ts.
    it('is rejected if the adapter names another one than the setting', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
      const issuer = () => 'https://other.example';
      const error = await failure(compared(issuer, ISS)).finally(() => warn.mockRestore());
      expect(error).toMatchObject({ error: 'invalid_grant' });
      expect((error.cause as Error).message).toContain('names another issuer');
    });

    it('causes a log line that names the setting if it cannot be compared', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
      await failure(compared(undefined));
      expect(warn.mock.calls[0]).toEqual([
        'a callback of provider corp has an iss, and was refused: set providers.corp.issuer to what it must be',
      ]);
      expect(warn.mock.contexts[0]).toMatchObject({ context: 'CallbackIssuer' });
      warn.mockRestore();
    });

    it.each([
      ['the settings', undefined, 'https://other.example', 'https://other.example', 'issuer'],
      ['the adapter', () => `${ISS}/`, undefined, `${ISS}/`, 'url'],
    ])(
      'causes a log line that names the setting if %s has another one',
      async (_name, issuer, own, it, key) => {
        const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
        await failure(compared(issuer, own));
        expect(warn.mock.calls).toEqual([
          [
            `provider corp failed (issuer): the callback names another issuer than ${it}: ${ISS}: invalid_grant from the callback; look at providers.corp.${key}`,
          ],
        ]);
        warn.mockRestore();
      },
    );

    it('is server_error if the adapter returns a number', async () => {
      const error = await failure(compared(() => 7));
      expect(error).toMatchObject({
        error: 'server_error',
        cause: { message: 'the issuer of the adapter is not a string' },
      });
    });
  });

  it('check names the value of a url that is the address of a discovery document', async () => {
    const url = 'https://id.example/realms/corp/.well-known/openid-configuration';
    const check = jest.fn(async () => undefined);
    const lines: string[] = [];
    const settings = providerSettings('corp', { url });
    await providerOf({ check }, { settings }).check((line) => void lines.push(line));
    expect(lines).toEqual([
      'Provider corp cannot be used now: providers.corp.url is the address of a discovery document; set it to https://id.example/realms/corp',
    ]);
    expect(check).not.toHaveBeenCalled();
  });

  it('check reports a line for each error', async () => {
    const check = (): never => {
      throw new AggregateError([new Error('away'), refusal('invalid_client'), new Error('slow')]);
    };
    const lines: string[] = [];
    await providerOf({ check }, { settings: secretive }).check((line) => void lines.push(line));
    expect(lines).toEqual([
      'Provider corp cannot be used now: refused',
      'Provider corp cannot be used now: away',
      'Provider corp cannot be used now: slow',
    ]);
  });

  it('check has the deadline', async () => {
    const lines: string[] = [];
    await providerOf({ check: never }, { settings: secretive, ms: 20 }).check(
      (line) => void lines.push(line),
    );
    expect(lines).toEqual([
      'Provider corp cannot be used now: timed out after 20 ms; look at providers.corp.url',
    ]);
  });

  // The file may be replaced while the service runs (docs/maintenance.md#rotating-secrets).
  describe('a client secret in a file', () => {
    let directory: string;
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'latchkey-secret-'));
    });
    afterAll(() => rmSync(directory, { recursive: true }));
    afterEach(() => jest.restoreAllMocks());

    it('is read again', async () => {
      const path = join(directory, 'secret');
      const clientSecretFile = { path, variable: 'F', parser: providerKeys.client_secret.parser };
      const settings = providerSettings('corp', { clientSecret: 'first', clientSecretFile });
      const seen: ProviderSettings[] = [];
      const authorizationUrl = (withSettings: ProviderSettings): URL => {
        seen.push(withSettings);
        return PAGE;
      };
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
      const provider = providerOf({ authorizationUrl }, { settings });
      const began = performance.now();
      const clock = jest.spyOn(performance, 'now');
      for (const [second, content] of ['second\n', 'second\n', ''].entries()) {
        writeFileSync(path, content);
        clock.mockReturnValue(began + 2000 * (second + 1));
        await provider.authorizationUrl(REQUEST);
      }
      expect(seen[0]).toEqual({ ...settings, clientSecret: 'second' });
      expect(seen[1]).toBe(seen[0]); // an adapter may use the object as a key
      expect(seen[2]).toBe(seen[0]);
      expect(warn.mock.calls).toEqual([['F is an empty file. The last value is used.']]);
      expect(warn.mock.contexts[0]).toMatchObject({ context: 'Provider' });
    });
  });

  describe('metrics', () => {
    const seen: unknown[] = [];
    const events = new Events();
    events.on('provider.called', (event) => void seen.push(event));
    beforeEach(() => void (seen.length = 0));
    const seconds: unknown = expect.any(Number);

    it('have an event for each request, with its error', async () => {
      const exchange = (): Promise<never> => Promise.reject(refusal('invalid_grant'));
      const provider = providerOf({ exchange }, { events });
      await provider.authorizationUrl(REQUEST);
      await failure(provider.exchange(CODE));
      await provider.checkIssuer(undefined);
      expect(seen).toEqual([
        { provider: 'corp', operation: 'authorize', error: undefined, seconds },
        { provider: 'corp', operation: 'exchange', error: 'invalid_grant', seconds },
        { provider: 'corp', operation: 'issuer', error: undefined, seconds },
      ]);
    });

    it('have spans', async () => {
      const begin = jest.fn<Tracer['begin']>();
      traceWith({ begin } as unknown as Tracer);
      await providerOf({}).authorizationUrl(REQUEST);
      await providerOf({}).exchange(CODE);
      expect(begin.mock.calls).toEqual([
        ['provider authorize', { 'latchkey.provider': 'corp' }],
        ['provider exchange', { 'latchkey.provider': 'corp' }],
      ]);
    });
  });
});
