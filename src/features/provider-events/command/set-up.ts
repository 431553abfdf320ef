import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres } from '#embedded-postgres';
import { DataSource } from 'typeorm';
import { AuditSearch } from '../../../audit/search/audit-search.js';
import { AuditWalks } from '../../../audit/search/audit-walks.js';
import type { CheckReport } from '../../../platform/check-report.js';
import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { siblingVariable } from '../../../platform/config/providers/provider-variables.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { usualTarget } from '../../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../../platform/database/pool/data-source.js';
import { errorReason } from '../../../platform/errors/error-facts.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { requestedEvents } from '../event-types.js';
import { discoverTransmitter, PUSH, type Transmitter } from '../verify/transmitter.js';
import { Failed, failureOf, type Step } from './failure.js';
import { getToken, isCurrent, StreamCalls, type Stream } from './stream.js';

export interface SetUpOptions {
  readonly settings: Settings;
  /** With `signals`. */
  readonly provider: ProviderSettings;
  /** Prints none of the secrets. */
  readonly report: CheckReport;
  readonly secrets: string[];
  /** For the verification event; milliseconds. */
  readonly waitMs: number;
}

/** Interval at which the database is asked whether the event has arrived. */
const POLL_MS = 250;

/** Sets the stream up, and reports what it finds. Ends at the first step that fails. */
export async function setUpSignals(options: SetUpOptions): Promise<void> {
  const http = new ProviderHttp();
  try {
    await new SetUp(options, http).run();
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    options.report.add('FAIL', error.part, error.message);
  } finally {
    await http.onApplicationShutdown();
  }
}

class SetUp {
  /** Where the service receives events. */
  private readonly address: string;

  constructor(
    private readonly options: SetUpOptions,
    private readonly http: ProviderHttp,
  ) {
    const { settings, provider } = options;
    this.address = `${settings.publicUrl}/providers/${provider.name}/signals`;
  }

  async run(): Promise<void> {
    const { provider, report, secrets } = this.options;
    const transmitter = await this.step('transmitter', discoverTransmitter(this.http, provider));
    const endpoint = this.checkTransmitter(transmitter);
    const token = await this.step('access token', getToken(this.http, provider));
    secrets.push(token);
    report.add('ok', 'access token', `of the client ${provider.clientId}`);
    const calls = new StreamCalls(this.http, token);
    const stream = await this.connect(calls, endpoint);
    this.checkStream(stream);
    await this.checkStatus(calls, transmitter, stream);
    if (transmitter.defaultSubjects === 'NONE') {
      const seen =
        'a stream begins without users (default_subjects is NONE), and then nothing is sent: make all users its subjects (Keycloak: SSF, Receiver, Default Subjects: ALL)';
      report.add('warning', 'subjects', seen);
    }
    if (report.count('FAIL') === 0) await this.verify(calls, transmitter, stream);
  }

  private step<T>(step: Step, work: Promise<T>): Promise<T> {
    const { provider, secrets } = this.options;
    return work.catch((error: unknown) => {
      throw failureOf(step, error, provider, secrets);
    });
  }

  /** @returns the configuration endpoint */
  private checkTransmitter(transmitter: Transmitter): string {
    const { issuer, deliveryMethods, jwksUri, configurationEndpoint, specVersion } = transmitter;
    const version = specVersion === undefined ? '' : `, SSF ${specVersion}`;
    this.options.report.add('ok', 'transmitter', issuer + version);
    if (deliveryMethods.length > 0 && !deliveryMethods.includes(PUSH)) {
      const offered = deliveryMethods.join(', ');
      throw new Failed('transmitter', `it does not push events (${PUSH}); it offers ${offered}`);
    }
    if (jwksUri === undefined) {
      throw new Failed('transmitter', 'its metadata has no jwks_uri, so its events cannot be verified');
    }
    if (configurationEndpoint !== undefined) return configurationEndpoint;
    throw new Failed(
      'transmitter',
      `its metadata has no configuration_endpoint: make a stream in its console that pushes (RFC 8935) to ${this.address}`,
    );
  }

  /** Creates or updates the stream; there is never a second one. */
  private async connect(calls: StreamCalls, url: string): Promise<Stream> {
    const { provider, report } = this.options;
    const wanted = { endpoint: this.address, events: requestedEvents(provider.signals?.endedBy) };
    const streams = await this.step('stream', calls.list(url));
    const mine = streams.filter(({ endpoint }) => endpoint === this.address);
    if (mine.length > 1) {
      const seen = `${mine.length} streams push to this address, so each event arrives several times: remove all but one`;
      report.add('warning', 'stream', seen);
    }
    if (mine.length === 0 && streams.length > 1) {
      const ids = streams.map(({ id, endpoint }) => `${id} (${endpoint})`).join(', ');
      const seen =
        'this client has several streams, and none pushes to this address: remove those that nobody uses';
      throw new Failed('stream', `${seen}: ${ids}`);
    }
    const found = mine[0] ?? streams[0];
    if (found && isCurrent(found, wanted)) {
      report.add('ok', 'stream', `${found.id} is up to date`);
      return found;
    }
    const written = await this.step('stream', calls.write(url, wanted, found?.id));
    const moved = found && found.endpoint !== this.address;
    const before = moved ? `, which pushed to ${found.endpoint ?? 'no address'}` : '';
    report.add('ok', 'stream', `${found ? 'updated' : 'created'} ${written.id}${before}`);
    return written;
  }

  private checkStream({ audience, delivered }: Stream): void {
    const { settings, provider, report } = this.options;
    report.add('ok', 'address', this.address);
    const accepted = [settings.publicUrl, provider.signals?.audience];
    if (audience.length > 0 && !audience.some((one) => accepted.includes(one))) {
      const variable = siblingVariable(provider.variables.adapter, 'signals_audience');
      const seen = `the events are for ${audience.join(', ')}`;
      report.add('FAIL', 'audience', `${seen}: set ${variable} to it, and restart the service`);
    }
    if (delivered?.length === 0) {
      const seen = 'it sends no event that has an effect here: allow session-revoked for this receiver';
      report.add('FAIL', 'events', seen);
    } else if (delivered) {
      const names = delivered.map((event) => event.slice(event.lastIndexOf('/') + 1));
      report.add('ok', 'events', names.join(', '));
    }
  }

  private async checkStatus(calls: StreamCalls, { statusEndpoint: url }: Transmitter, { id }: Stream) {
    if (url === undefined) return;
    const { status, reason } = await this.step('status', calls.readStatus(url, id));
    if (status === 'enabled') return;
    const why = reason === undefined ? '' : ` (${shown(reason)})`;
    const seen = `the stream is ${shown(status)}${why}`;
    this.options.report.add('FAIL', 'status', `${seen}: enable it at the transmitter`);
  }

  private async verify(calls: StreamCalls, { verificationEndpoint: url }: Transmitter, { id }: Stream) {
    const { settings, report } = this.options;
    if (url === undefined) {
      const seen =
        'the transmitter offers none: sign a user out there, and look for signal_received in the audit trail';
      return report.add('warning', 'verification', seen);
    }
    const trail = await openTrail(settings).catch((error: unknown) => {
      report.add(
        'warning',
        'verification',
        `this command cannot see whether the event arrives: ${errorReason(error)}`,
      );
    });
    try {
      const state = randomBytes(16).toString('hex');
      await this.step('verification', calls.requestVerification(url, id, state));
      if (trail)
        await this.waitFor(state, new AuditSearch(new AuditWalks(trail), { formerIds: async () => [] }));
    } finally {
      await trail?.destroy();
    }
  }

  private async waitFor(state: string, search: AuditSearch): Promise<void> {
    const { provider, report, waitMs } = this.options;
    const end = performance.now() + waitMs;
    const hasArrived = async (): Promise<boolean> => {
      const { events } = await search.find({ event: 'signal_received', provider: provider.name });
      return events.some(({ reason }) => reason === `verification: ${state}`);
    };
    while (!(await hasArrived())) {
      if (performance.now() >= end) {
        throw new Failed(
          'verification',
          `the event did not arrive within ${waitMs / 1000} s: the transmitter must reach the address of this service; if it refused the event, its log says why`,
        );
      }
      await delay(POLL_MS);
    }
    report.add('ok', 'verification', 'the event has arrived, and the service accepted it');
  }
}

/** Connects to the audit trail of the running service. @throws if there is none */
async function openTrail(settings: Settings): Promise<DataSource> {
  const { databaseUrl, dataDir, auditRetentionDays } = settings;
  if (auditRetentionDays === 0) throw new Error('AUDIT_RETENTION_DAYS is 0, so there is no audit trail');
  const database = databaseUrl ? usualTarget(settings) : runningEmbeddedPostgres(dataDir);
  if (!database) throw new Error('the service does not run here, and DATABASE_URL is not set');
  return new DataSource(dataSourceOptions(database, 1)).initialize();
}

/** Value of the transmitter, which may be none. */
function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'unknown');
}
