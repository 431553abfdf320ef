import { Logger } from '@nestjs/common';
import { currentSecret, type CurrentSecret } from '../platform/config/secrets/current-secret.js';
import { claimPaths } from '../platform/config/providers/claim-paths.js';
import { siblingVariable } from '../platform/config/providers/provider-variables.js';
import { ADAPTERS, providerKeys } from '../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../platform/config/settings/settings.js';
import type { Clock } from '../platform/database/clock.js';
import { OAuthError, type ErrorCode } from '../platform/errors/oauth-error.js';
import { printable } from '../platform/errors/printable.js';
import type { Events, ProviderOperation } from '../platform/events.js';
import { isObject } from '../platform/http/parameters/json.js';
import { inSpan } from '../platform/spans.js';
import { deriveUserId } from '../identity/user-id.js';
import { OidcAdapter, type LogoutRequest } from './adapters/oidc.adapter.js';
import { checkAdapter } from './custom/custom-adapters.js';
import type { Claims } from './identity/claims.js';
import { namesAt, parseIdentity, type Identity } from './identity/identity.js';
import { claimMaps } from './identity/select-claims.js';
import { authenticated, splitRequired, withRequired } from './identity/step-up.js';
import { oneLine, ownWords, refusalLine } from './errors/log-line.js';
import type {
  AdapterMemory,
  AuthorizationRequest,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from './provider-adapter.js';
import { findCall, isAway, ProviderRefusal } from './transport/provider-answer.js';
import { within } from './transport/provider-http.js';

const logger = new Logger('Provider');
const issuerLogger = new Logger('CallbackIssuer');
const claimsLogger = new Logger('ProviderClaims');
/** Anyone can cause these lines by bad codes and callbacks; the log limits the lines of each context. */
const codeLogger = new Logger('ProviderCode');
const callbackLogger = new Logger('ProviderCallback');

const DEADLINE_MS = 5000; // milliseconds for a whole exchange (docs/security.md#providers)

const LOGOUT_MS = 2000; // milliseconds for the discovery document at a sign-out, which works without it

// Errors are mapped by their code, not by status (docs/provider-contract.md#implement-the-contract).
type Refusal = readonly [error: ErrorCode, description: string];
const CREDENTIALS: Refusal = ['invalid_client', 'the provider does not accept the client credentials'];
const UNUSABLE: Refusal = ['server_error', 'the identity provider cannot be used right now'];
const REFUSALS = new Map<unknown, Refusal>([
  ['invalid_grant', ['invalid_grant', 'the provider does not accept the authorization code']],
  // Of an adapter: the user is known to the provider, and may not use this application.
  ['access_denied', ['access_denied', 'the identity provider does not let this account in']],
  ['invalid_client', CREDENTIALS],
  ['unauthorized_client', CREDENTIALS],
  ['invalid_request', ['invalid_request', 'the provider does not accept the request']],
]);

/** Discovery document (OpenID Connect Discovery §4, RFC 8414 §3), pasted as `url`. */
const DOCUMENT = /^(.+?)\/\.well-known\/(?:openid-configuration|oauth-authorization-server)$/;

/** Code to redeem; `memory` is that of `authorizationUrl`. */
type ProviderExchange = Omit<ExchangeRequest, 'signal' | 'iss' | 'memory'> & {
  readonly iss?: string | undefined;
  readonly memory?: AdapterMemory | null;
};

/** Configured provider, with the limits of every adapter. */
export class Provider {
  private readonly clientSecret: CurrentSecret<string>;
  private readonly clientKey: CurrentSecret<string | undefined>;
  private readonly maps: ReturnType<typeof claimMaps>;
  private latest: ProviderSettings;
  private hasWarned = false;

  constructor(
    readonly settings: ProviderSettings,
    private readonly adapter: ProviderAdapter,
    private readonly deadlineMs = DEADLINE_MS,
    private readonly events?: Events,
    private readonly clock: Pick<Clock, 'now'> = Date,
  ) {
    const { clientSecretFile: file, clientSecret, clientKeyFile: keyFile, clientKey } = settings;
    this.latest = settings;
    this.maps = claimMaps(settings.options);
    const accepted = file?.parser ?? providerKeys.client_secret.parser;
    const warn = (line: string): void => logger.warn(line);
    this.clientSecret = currentSecret(file, accepted, clientSecret, warn);
    this.clientKey = currentSecret(keyFile, providerKeys.client_key.parser, clientKey, warn);
  }

  /** Returns the provider's authorization page for a state, and the memory for `exchange`. */
  async authorizationUrl(request: AuthorizationRequest): Promise<{ url: URL; memory?: AdapterMemory }> {
    return this.ask('authorize', async () => {
      const answer = await this.adapter.authorizationUrl(this.current(), request);
      const { url, memory: own } = 'memory' in answer ? answer : { url: answer, memory: undefined };
      if (!(url instanceof URL)) throw new Error('the adapter made no URL');
      const memory = withRequired(own, request.params, this.settings.options);
      return { url, ...(memory && { memory }) };
    });
  }

  /**
   * Redeems a code.
   * @param isOurCallback the browser returned to the service itself; other clients need not pass `iss` on
   * @throws OAuthError by the table above, else `server_error`; `invalid_grant` for a sign-in that is too old
   */
  async exchange({ memory, iss, ...request }: ProviderExchange, isOurCallback = false): Promise<Identity> {
    const { code, state } = request;
    const { required, own } = splitRequired(memory ?? undefined);
    const secrets = [code, state, ...Object.values(own ?? {})].filter((value) => typeof value === 'string');
    const work = async ({ signal }: AbortController): Promise<Identity> => {
      const settings = this.current();
      await this.validateIssuer(settings, iss, isOurCallback);
      signal.throwIfAborted(); // after the deadline the code is not sent
      let raw: Claims = {};
      const keep = (sent: Claims): void => {
        raw = sent;
        request.received?.(sent);
      };
      const exchange = {
        ...request,
        ...(iss !== undefined && { iss }),
        ...(own && { memory: own }),
        ...(settings.keeps && { received: keep }),
        signal,
      };
      const received = await this.adapter.exchange(settings, exchange);
      const { adapter } = settings;
      // `contract` and `oauth2` have no ID token, so their member of this name means something else.
      const hasIdToken = adapter === 'oidc' || !ADAPTERS.has(adapter);
      const answer = hasIdToken ? received : { ...received, session_expiry: undefined };
      const parsed = this.toIdentity(settings, answer as ProviderIdentity);
      const identity = settings.keeps ? { ...parsed, names: namesAt(parsed, raw, settings.keeps) } : parsed;
      if (adapter === 'oidc') return identity;
      // Only `oidc` has the logouts for which these are stored, and `contract` and `oauth2` have no ID token.
      const other = { ...identity, subject: null, session: null, idToken: null, refreshToken: null };
      return hasIdToken ? other : { ...other, authTime: null, acr: null, amr: null };
    };
    const identity = await this.ask('exchange', work, this.deadlineMs, secrets);
    return authenticated(identity, required, this.settings, this.clock.now() / 1000, (line) =>
      codeLogger.warn(line),
    );
  }

  /**
   * Asks about a user again, by a refresh token (`ProviderSettings.offline`).
   * @param rotated receives a new refresh token, also if the call fails afterwards
   * @throws OAuthError `invalid_grant` if the provider has ended the access; another error if it did not
   *   answer as it should. Nothing is logged: `reasonOf` describes the error
   */
  async refresh(refreshToken: string, rotated: (refreshToken: string) => unknown): Promise<Identity> {
    const { adapter } = this;
    if (!(adapter instanceof OidcAdapter)) throw new Error('only the adapter oidc has refresh tokens');
    const work = async ({ signal }: AbortController): Promise<Identity> => {
      const settings = this.current();
      return this.toIdentity(settings, await adapter.refresh(settings, { refreshToken, rotated, signal }));
    };
    // its error is of one user among many: the caller warns once
    return this.ask('refresh', work, this.deadlineMs, [refreshToken], false);
  }

  /**
   * Reads the identity in claims that the provider has signed, as in those of an ID token at a sign-in.
   * @param claims verified
   * @throws OAuthError `invalid_grant` if the authentication does not meet `authorize_params`; another one
   *   without a usable user id
   */
  async identityIn(claims: Claims & { readonly sub: string }): Promise<Identity> {
    const { adapter } = this;
    if (!(adapter instanceof OidcAdapter)) throw new Error('only the adapter oidc has signed claims');
    const settings = this.current();
    const signal = AbortSignal.timeout(this.deadlineMs);
    const { sub: subject, auth_time, acr, amr, session_expiry } = claims;
    const signed = { subject, auth_time, acr, amr, session_expiry } as Partial<ProviderIdentity>;
    const read = { ...(await adapter.identityOf(settings, claims, { signal })), ...signed };
    const identity = this.toIdentity(settings, read);
    const names = settings.keeps ? namesAt(identity, claims, settings.keeps) : identity.names;
    const { required } = splitRequired(withRequired(undefined, {}, settings.options));
    return authenticated({ ...identity, names }, required, settings, this.clock.now() / 1000, (line) =>
      codeLogger.warn(line),
    );
  }

  private toIdentity(settings: ProviderSettings, answer: ProviderIdentity): Identity {
    const { name, variables } = settings;
    const warn = (line: string, id: string): void =>
      claimsLogger.warn(`provider ${name}, user ${printable(id, 255)} (${deriveUserId(name, id)}): ${line}`);
    const settingOf = (claim: string): string => siblingVariable(variables.adapter, `map_${claim}`);
    return parseIdentity(this.withNamedClaims(answer), warn, { maps: this.maps, settingOf });
  }

  /** Leaves out claims that no setting names: a provider alone grants no role. Warns once. */
  private withNamedClaims(answer: ProviderIdentity): ProviderIdentity {
    const { claims, ...others } = (answer ?? {}) as Partial<ProviderIdentity>;
    if (!isObject(claims)) return answer;
    const { name, options, variables } = this.settings;
    const named = new Set(claimPaths(options['claims']).map(([claim]) => claim));
    const accepted = Object.entries(claims).filter(([claim]) => named.has(claim));
    if (options['claims'] === undefined && Object.keys(claims).length > 0 && !this.hasWarned) {
      this.hasWarned = true;
      const setting = siblingVariable(variables.adapter, 'claims');
      claimsLogger.warn(`provider ${name} sends claims, and none is kept: ${setting} names those to keep`);
    }
    return { ...others, claims: Object.fromEntries(accepted) } as ProviderIdentity;
  }

  /** Logs an error of the provider in a callback (RFC 6749 §4.1.2.1), with the setting to look at. */
  warnOfCallback(error: string, description: string | undefined, secrets: readonly string[]): void {
    const call = { url: 'the callback', error, description };
    this.warn('authorize', new ProviderRefusal(error, 'the callback says', call), secrets, callbackLogger);
  }

  /** Describes an error of the methods of this class for an operator, as the log does. */
  reasonOf(error: unknown, secrets: readonly string[]): string {
    return describe((error as Error).cause ?? error, this.latest, secrets);
  }

  /** Validates `iss` of a callback with an error. @throws OAuthError `invalid_grant`, `server_error` */
  async checkIssuer(iss: string | undefined): Promise<void> {
    await this.ask('issuer', async () => this.validateIssuer(this.current(), iss, true));
  }

  /** Whether every callback has an `iss` that is compared (RFC 9207 §2.4). Never throws. */
  async sendsIssuer(): Promise<boolean> {
    const { adapter, latest } = this;
    const isKnown = async (): Promise<boolean> => {
      if (adapter instanceof OidcAdapter) return adapter.announcesIssuer(latest);
      if (adapter.issuer === 'own') return true;
      return ((await adapter.issuer?.(latest)) ?? latest.issuer) !== undefined;
    };
    return within(this.deadlineMs, isKnown).catch(() => false);
  }

  /**
   * Validates `iss` before the code is sent (RFC 9207 §2.4). In a mix-up attack another server issued the
   * code, and this provider would receive it (RFC 9700 §4.4).
   */
  private async validateIssuer(settings: ProviderSettings, iss: string | undefined, isOurCallback: boolean) {
    const { adapter } = this;
    if (iss === undefined) {
      if (!isOurCallback || !(adapter instanceof OidcAdapter)) return;
      if (!(await adapter.announcesIssuer(settings))) return;
      throw new ProviderRefusal('invalid_grant', 'the callback names no issuer');
    }
    if (adapter.issuer === 'own') return;
    const known: unknown = await adapter.issuer?.(settings);
    const expected = known ?? settings.issuer;
    if (expected === undefined) {
      const { name, variables } = settings;
      const line = `a callback of provider ${name} has an iss, and was refused: set ${variables.issuer} to what it must be`;
      issuerLogger.warn(line);
      throw new ProviderRefusal('invalid_grant', 'the issuer of the callback cannot be compared');
    }
    if (typeof expected !== 'string') throw new Error('the issuer of the adapter is not a string');
    if (iss === expected) return;
    const named = printable(iss.split(/[?#]/)[0]!, 200); // an issuer has no query (RFC 9207 §2)
    const message = `the callback names another issuer than ${expected}: ${named}`;
    const isSetting = known === undefined || settings.issuer !== undefined;
    const call = { url: 'the callback', settings: [isSetting ? 'issuer' : 'url'] };
    throw new ProviderRefusal('invalid_grant', message, call);
  }

  /** Returns the provider's sign-out page, if it has one. @throws OAuthError `server_error` if it is away */
  async logoutUrl(request: LogoutRequest): Promise<URL | undefined> {
    const { adapter } = this;
    if (!(adapter instanceof OidcAdapter)) return undefined;
    return this.ask('logout', async () => adapter.logoutUrl(this.current(), request), LOGOUT_MS);
  }

  /** Lets the adapter check the provider. @param warn receives a line for each error */
  async check(warn: (line: string) => void): Promise<void> {
    const [, url] = DOCUMENT.exec(this.latest.url ?? '') ?? [];
    if (url !== undefined) {
      const { name, variables } = this.latest;
      const key = siblingVariable(variables.adapter, 'url');
      const line = `${key} is the address of a discovery document; set it to ${url}`;
      return warn(`Provider ${name} cannot be used now: ${line}`);
    }
    const lineOf = (error: unknown): string => describe(error, this.latest);
    const findings = await checkAdapter(this.adapter, this.latest, this.deadlineMs, lineOf);
    for (const { line } of findings) warn(`Provider ${this.settings.name} cannot be used now: ${line}`);
  }

  /** Settings with current secrets (docs/maintenance.md#rotating-secrets); one object until they change. */
  private current(): ProviderSettings {
    const clientSecret = this.clientSecret.recent();
    const clientKey = this.clientKey.recent();
    if (clientSecret !== this.latest.clientSecret || clientKey !== this.latest.clientKey) {
      this.latest = { ...this.latest, clientSecret, clientKey };
    }
    return this.latest;
  }

  private async ask<T>(
    operation: ProviderOperation,
    work: (deadline: AbortController) => Promise<T>,
    deadlineMs = this.deadlineMs,
    secrets: readonly string[] = [],
    isWarned = true,
  ): Promise<T> {
    const began = performance.now();
    const provider = this.settings.name;
    let error: OAuthError | undefined;
    try {
      const attributes = { 'latchkey.provider': provider };
      return await inSpan(`provider ${operation}`, attributes, () => within(deadlineMs, work));
    } catch (cause) {
      if (isWarned) this.warn(operation, cause, secrets);
      throw (error = this.mapError(cause, secrets));
    } finally {
      const seconds = (performance.now() - began) / 1000;
      this.events?.emit('provider.called', { provider, operation, error: error?.error, seconds });
    }
  }

  /** Logs a warning that names the settings to look at; the client receives none of it. */
  private warn(operation: ProviderOperation, cause: unknown, secrets: readonly string[], log?: Logger): void {
    if (!this.isRefusal(cause)) return;
    const { error } = cause as { readonly error?: unknown };
    (log ?? (error === 'invalid_grant' ? codeLogger : logger)).warn(
      `provider ${this.settings.name} failed (${operation}): ${refusalLine(cause, this.latest, secrets)}`,
    );
  }

  /** Whether the provider caused an error, or an integrator's adapter says so. */
  private isRefusal(cause: unknown): boolean {
    const isCustom = !ADAPTERS.has(this.settings.adapter) && cause instanceof Error && 'error' in cause;
    return isCustom || isOfProvider(cause);
  }

  /** The audit trail gets the provider's own words. */
  private mapError(cause: unknown, secrets: readonly string[]): OAuthError {
    const refusal = REFUSALS.get((cause as { error?: unknown } | null | undefined)?.error) ?? UNUSABLE;
    const reason = this.isRefusal(cause) ? ownWords(cause, this.latest, secrets) : undefined;
    return new OAuthError(...refusal, { cause, reason });
  }
}

function describe(error: unknown, settings: ProviderSettings, secrets: readonly string[] = []): string {
  return isOfProvider(error) ? refusalLine(error, settings, secrets) : oneLine(error, settings);
}

/** Whether the provider caused an error, by its answer or its absence. */
function isOfProvider(error: unknown): boolean {
  return findCall(error) !== undefined || isAway(error);
}
