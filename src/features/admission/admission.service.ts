import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { currentSecret, type CurrentSecret } from '../../platform/config/secrets/current-secret.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { signedHeaders, SignedHttp } from '../../platform/http/signed-calls/signed-http.js';
import { settings } from './admission.feature.js';
import { readDecision, type Decision } from './decision.js';

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
  private readonly http: SignedHttp;
  private readonly secrets: CurrentSecret<readonly string[]>;
  /** Users with open calls, each as often as there is a call. */
  private readonly asking: string[] = [];

  constructor(
    @Inject(SETTINGS) { admissionUrl, admissionSecret = [], webhookPrivate, secretFiles }: Settings,
    private readonly clock: Clock,
  ) {
    this.url = admissionUrl!; // else there is no such module
    this.http = new SignedHttp(TIMEOUT_MS, webhookPrivate);
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
