import { Logger } from '@nestjs/common';
import { currentSecret, type CurrentSecret } from '../config/secrets/current-secret.js';
import { providerKeys, ADAPTERS } from '../config/providers/provider-keys.js';
import type { ProviderSettings } from '../config/settings/settings.js';
import { OAuthError, type ErrorCode } from '../errors/oauth-error.js';
import type { Events, ProviderOperation } from '../events.js';
import { inSpan } from '../spans.js';
import { OidcAdapter, type LogoutRequest } from './adapters/oidc.adapter.js';
import { checkAdapter, oneLine, within } from './custom/check-adapter.js';
import { parseIdentity, type Identity } from './identity/identity.js';
import { askedOf, isAway, ProviderRefusal } from './transport/provider-answer.js';
import type {
  AdapterMemory,
  AuthorizationRequest,
  ExchangeRequest,
  ProviderAdapter,
} from './provider-adapter.js';
import { refusalLine } from './refusal-line.js';

const logger = new Logger('Provider');
const issuerLogger = new Logger('CallbackIssuer');
/** Anyone can cause these with a bad code. The log limits the lines of each context, so that they hide no others. */
const codeLogger = new Logger('ProviderCode');

/** The time that a provider has for a whole exchange (contract §3). */
const DEADLINE_MS = 5000;

/** The time for its discovery document when somebody signs out: they wait for it, and can do without. */
const LOGOUT_MS = 2000;

// Provider errors are mapped by their code, whatever their status (contract §3).
type Refusal = readonly [error: ErrorCode, description: string];
const CREDENTIALS: Refusal = ['invalid_client', 'the provider does not accept the client credentials'];
const REFUSALS = new Map<unknown, Refusal>([
  ['invalid_grant', ['invalid_grant', 'the provider does not accept the authorization code']],
  ['invalid_client', CREDENTIALS],
  ['unauthorized_client', CREDENTIALS],
  ['invalid_request', ['invalid_request', 'the provider does not accept the request']],
]);

/** One configured provider, with the limits that hold for every adapter. */
export class Provider {
  private readonly clientSecret: CurrentSecret<string>;
  private latest: ProviderSettings;

  constructor(
    readonly settings: ProviderSettings,
    private readonly adapter: ProviderAdapter,
    private readonly deadlineMs = DEADLINE_MS,
    private readonly events?: Events,
  ) {
    const { clientSecretFile: file, clientSecret } = settings;
    this.latest = settings;
    const accepted = file?.parser ?? providerKeys.clientSecret.parser;
    this.clientSecret = currentSecret(file, accepted, clientSecret, (line) => logger.warn(line));
  }

  /** The provider's authorization page for a state, and what the adapter wants kept with it. */
  async authorizationUrl(request: AuthorizationRequest): Promise<{ url: URL; memory?: AdapterMemory }> {
    return this.ask('authorize', async () => {
      const answer = await this.adapter.authorizationUrl(this.current(), request);
      const authorization = 'memory' in answer ? answer : { url: answer };
      if (!(authorization.url instanceof URL)) throw new Error('the adapter made no URL');
      return authorization;
    });
  }

  /**
   * Redeems a code. Answers when the deadline has passed even if the adapter does not.
   * @param isOurCallback whether the browser came to us with it; a client of the specification may not have passed `iss` on
   * @throws OAuthError as the table above maps it, `server_error` for every other error.
   */
  async exchange(request: Omit<ExchangeRequest, 'signal'>, isOurCallback = false): Promise<Identity> {
    const { code, state, memory } = request;
    const secrets = [code, state, ...Object.values(memory ?? {})].filter(
      (value) => typeof value === 'string',
    );
    const work = async ({ signal }: AbortController): Promise<Identity> => {
      const settings = this.current();
      await this.judgeIssuer(settings, request.iss, isOurCallback);
      signal.throwIfAborted(); // once the deadline has passed, the code is not sent
      const identity = parseIdentity(await this.adapter.exchange(settings, { ...request, signal }));
      // Only there can a provider send what these are kept for: a logout token (contract §6).
      return settings.adapter === 'oidc' ? identity : { ...identity, subject: null, session: null };
    };
    return this.ask('exchange', work, this.deadlineMs, secrets);
  }

  /** Logs an error that the provider sent in a callback of ours (RFC 6749 §4.1.2.1). */
  warnOfCallback(error: string, description: string | undefined): void {
    const refusal = new ProviderRefusal(error, 'the callback says', {
      url: 'the callback',
      error,
      description,
    });
    this.warn('authorize', refusal, []);
  }

  /**
   * Judges `iss` of a callback that came to us with an error; `exchange` does so where it came with a code.
   * @throws OAuthError `invalid_grant`; `server_error` when the provider could not be asked
   */
  async checkIssuer(iss: string | undefined): Promise<void> {
    await this.ask('issuer', async () => this.judgeIssuer(this.current(), iss, true));
  }

  /** Whether its callbacks are known to have an `iss`, which is then compared (RFC 9207 §2.4). Never throws. */
  async sendsIssuer(): Promise<boolean> {
    const { adapter, latest } = this;
    const isKnown = async (): Promise<boolean> => {
      if (adapter instanceof OidcAdapter) return adapter.announcesIssuer(latest);
      if (adapter.issuer === 'own') return true;
      return ((await adapter.issuer?.(latest)) ?? latest.issuer) !== undefined;
    };
    return within(this.deadlineMs, isKnown()).catch(() => false);
  }

  /**
   * Checks `iss` of a callback before its code is sent anywhere (contract §6; RFC 9207 §2.4): in a mix-up attack another server
   * made the code, and this provider would learn it (RFC 9700 §4.4). In a callback of ours it is required if the provider
   * announces it.
   * @throws ProviderRefusal `invalid_grant` if it names another server, is missing, or cannot be compared
   */
  private async judgeIssuer(
    settings: ProviderSettings,
    iss: string | undefined,
    isOurCallback: boolean,
  ): Promise<void> {
    const { adapter } = this;
    if (iss === undefined) {
      if (!isOurCallback || !(adapter instanceof OidcAdapter)) return;
      if (!(await adapter.announcesIssuer(settings))) return;
      throw new ProviderRefusal('invalid_grant', 'the callback names no issuer');
    }
    if (adapter.issuer === 'own') return;
    const expected: unknown = (await adapter.issuer?.(settings)) ?? settings.issuer;
    if (expected === undefined) {
      const { name, variables } = settings;
      issuerLogger.warn(
        `a callback of provider ${name} has an iss, and was refused: set ${variables.issuer} to what it must be`,
      );
      throw new ProviderRefusal('invalid_grant', 'the issuer of the callback cannot be judged');
    }
    if (typeof expected !== 'string') throw new Error('the adapter has an issuer that is not text');
    if (iss !== expected) throw new ProviderRefusal('invalid_grant', 'the callback names another issuer');
  }

  /**
   * Where the browser ends the user's session with the provider itself. Only adapter `oidc` can know that (contract §4: the
   * provider's `end_session_endpoint`), so it is no method of `ProviderAdapter` (§6).
   * @returns undefined where the provider has no such page
   * @throws OAuthError `server_error` when it could not be asked
   */
  async logoutUrl(request: LogoutRequest): Promise<URL | undefined> {
    const { adapter } = this;
    if (!(adapter instanceof OidcAdapter)) return undefined;
    return this.ask('logout', async () => adapter.logoutUrl(this.current(), request), LOGOUT_MS);
  }

  /** Lets the adapter look at the provider. @param warn gets a line for each thing that it found, or that it could not */
  async check(warn: (line: string) => void): Promise<void> {
    const lineOf = (error: unknown, settings: ProviderSettings): string =>
      isOfProvider(error) ? refusalLine(error, settings) : oneLine(error, settings);
    const { refused, warned } = await checkAdapter(this.adapter, this.latest, this.deadlineMs, lineOf);
    for (const line of [...refused.map((fault) => fault.line), ...warned])
      warn(`Provider ${this.settings.name} cannot be used now: ${line}`);
  }

  /** With the client secret that holds now (contract §2); the same object as long as it is the same secret. */
  private current(): ProviderSettings {
    const clientSecret = this.clientSecret.recent();
    if (clientSecret !== this.latest.clientSecret) this.latest = { ...this.latest, clientSecret };
    return this.latest;
  }

  private async ask<T>(
    operation: ProviderOperation,
    work: (deadline: AbortController) => Promise<T>,
    deadlineMs = this.deadlineMs,
    secrets: readonly string[] = [],
  ): Promise<T> {
    const began = performance.now();
    let error: OAuthError | undefined;
    try {
      const attributes = { 'latchkey.provider': this.settings.name };
      return await inSpan(`provider ${operation}`, attributes, () => this.askWithin(deadlineMs, work));
    } catch (cause) {
      this.warn(operation, cause, secrets);
      throw (error = this.mapError(cause));
    } finally {
      const seconds = (performance.now() - began) / 1000;
      this.events?.emit('provider.asked', {
        provider: this.settings.name,
        operation,
        error: error?.error,
        seconds,
      });
    }
  }

  private async askWithin<T>(
    deadlineMs: number,
    work: (deadline: AbortController) => Promise<T>,
  ): Promise<T> {
    const deadline = new AbortController(); // makes its signal where it is asked for: 3 of the 8 µs of an authorization URL
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(Object.assign(new Error(`no answer within ${deadlineMs} ms`), { code: 'ETIMEDOUT' }));
        deadline.abort();
      }, deadlineMs);
    });
    try {
      return await Promise.race([work(deadline), late]);
    } finally {
      clearTimeout(timer); // an AbortSignal.timeout would be kept, and would fire, long after the answer
    }
  }

  /** Logs a warning that names the settings to look at; the client gets none of it (contract §6). */
  private warn(operation: ProviderOperation, cause: unknown, secrets: readonly string[]): void {
    const isOwn = !ADAPTERS.has(this.settings.adapter) && cause instanceof Error && 'error' in cause;
    if (!isOfProvider(cause) && !isOwn) return;
    const { name } = this.settings;
    const { error } = cause as { readonly error?: unknown };
    (error === 'invalid_grant' ? codeLogger : logger).warn(
      `provider ${name} failed (${operation}): ${refusalLine(cause, this.latest, secrets)}`,
    );
  }

  private mapError(cause: unknown): OAuthError {
    const refusal = REFUSALS.get((cause as { error?: unknown } | null | undefined)?.error);
    if (refusal) return new OAuthError(...refusal, { cause });
    return new OAuthError('server_error', 'the identity provider cannot be used right now', { cause });
  }
}

/** Whether the provider caused an error, by its answer or by none; the others are about a sign-in, or faults of adapters. */
function isOfProvider(error: unknown): boolean {
  return askedOf(error) !== undefined || isAway(error);
}
