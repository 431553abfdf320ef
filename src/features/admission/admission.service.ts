import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { currentSecret, type CurrentSecret } from '../../platform/config/secrets/current-secret.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { ForeignHttp, type Answer } from '../../platform/http/foreign/foreign-http.js';
import { signedHeaders } from '../../platform/http/foreign/signed-headers.js';
import { settings } from './admission.feature.js';
import { isUtf8 } from 'node:buffer';
import { printable } from '../../platform/errors/printable.js';
import { parseBody } from '../../platform/http/parameters/parse-body.js';
import { areWithinLimits, MAX_CLAIMS, MAX_CLAIMS_BYTES } from '../../identity/claim-limits.js';
import type { Claims } from '../../identity/claims.js';
import { validClaims } from '../../provider/identity/select-claims.js';

/** Of a whole call: the user waits for it. */
const TIMEOUT_MS = 2000;
/** Calls at a time, on an instance; a sign-in beyond does not wait. */
const MOST_CALLS = 100;
/** A user who begins many sign-ins leaves room for the others. */
const MOST_OF_USER = 2;

/** Asks the service at ADMISSION_URL. */
@Injectable()
export class AdmissionService implements OnApplicationShutdown {
  private readonly logger = new Logger('Admission');
  private readonly url: string;
  private readonly http: ForeignHttp;
  private readonly secrets: CurrentSecret<readonly string[]>;
  /** Users with open calls, each as often as there is a call. */
  private readonly asking: string[] = [];

  constructor(
    @Inject(SETTINGS) { admissionUrl, admissionSecret = [], webhookPrivate, secretFiles }: Settings,
    private readonly clock: Clock,
  ) {
    this.url = admissionUrl!; // else there is no such module
    const reach = webhookPrivate ? 'anywhere' : 'internet';
    this.http = new ForeignHttp({ timeoutMs: TIMEOUT_MS, reach, setting: 'WEBHOOK_PRIVATE' });
    const { name, parser } = settings.admissionSecret;
    const warn = (line: string): void => this.logger.warn(line);
    this.secrets = currentSecret(secretFiles.get(name), parser, admissionSecret, warn);
  }

  /**
   * @param data as docs/guides/access-policy.md#ask-a-service-of-yours has it
   * @throws OAuthError `server_error` without a decision
   */
  async ask(data: { readonly user_id: string }): Promise<Decision> {
    const { asking } = this;
    const own = asking.filter((userId) => userId === data.user_id).length;
    if (asking.length >= MOST_CALLS || own >= MOST_OF_USER) throw unavailable('too many calls at a time');
    asking.push(data.user_id);
    try {
      return await this.call(data);
    } catch (error) {
      throw unavailable(errorReason(error));
    } finally {
      asking.splice(asking.indexOf(data.user_id), 1);
    }
  }

  /** Requests may be in flight until the last one has been answered. */
  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }

  private async call(data: object): Promise<Decision> {
    const now = new Date(this.clock.now());
    const body = JSON.stringify({ type: 'admission', timestamp: now.toISOString(), data });
    const headers = signedHeaders(this.secrets.recent(), randomUUID(), now, body);
    return readDecision(await this.http.post(this.url, headers, body));
  }
}

/** Without the error itself: its members may have the path of the address, which may be secret. */
function unavailable(problem: string): OAuthError {
  const cause = new Error(`ADMISSION_URL: ${problem}`);
  return new OAuthError('server_error', 'the admission service has not decided about this sign-in', {
    cause,
    reason: cause.message,
    headers: { 'Retry-After': '1' },
  });
}

/** Characters of the message to the operator. */
const LONGEST_MESSAGE = 200;
const MOST_NAMED = 10;

/** Answer of the admission service (docs/guides/access-policy.md#ask-a-service-of-yours). */
export type Decision =
  | { readonly isAllowed: true; readonly claims: Claims }
  /** `message`: for the operator; empty: none. */
  | { readonly isAllowed: false; readonly message: string };

/** @throws Error that says what is wrong with the answer, without quoting its values */
function readDecision({ status, body }: Omit<Answer, 'retryAfter'>): Decision {
  if (status !== 200) throw new Error(`status ${status} instead of 200`);
  if (body instanceof Error) throw body;
  const { allow, claims, message } = parseJson(body);
  if (allow === true) return { isAllowed: true, claims: readClaims(claims) };
  if (allow !== false) throw new Error('the member allow of the answer is neither true nor false');
  return {
    isAllowed: false,
    message: typeof message === 'string' ? printable(message, LONGEST_MESSAGE) : '',
  };
}

function parseJson(body: Buffer): { readonly [member in 'allow' | 'claims' | 'message']?: unknown } {
  try {
    if (!isUtf8(body)) throw new Error('other bytes');
    return parseBody(body, 'application/json', Infinity);
  } catch {
    throw new Error('the answer is no JSON object, or has more than 100 levels');
  }
}

function readClaims(sent: unknown): Claims {
  const { accepted, dropped } = validClaims(sent);
  if (dropped.length > 0) {
    const named = dropped.slice(0, MOST_NAMED).map(({ name, why }) => `${printable(name, 64)} ${why}`);
    throw new Error(`claims of the answer: ${named.join(', ')}`);
  }
  if (!areWithinLimits(accepted)) {
    throw new Error(
      `the claims of the answer exceed ${MAX_CLAIMS} names or ${MAX_CLAIMS_BYTES} bytes of JSON`,
    );
  }
  return accepted;
}
