import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CheckReport } from '../../../platform/check-report.js';
import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { siblingVariable } from '../../../platform/config/providers/provider-variables.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { errorReason } from '../../../platform/errors/error-facts.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { discoverTransmitter, PUSH, type Transmitter } from '../verify/transmitter.js';
import * as advice from './advice.js';
import { openArrivals, type Arrivals } from './arrivals.js';
import { connectStream } from './connection.js';
import { requestedEvents } from '../event-types.js';
import { StepFailed, Steps } from './steps.js';
import type { Stream } from './stream.js';
import { getToken, TransmitterCalls } from './transmitter-calls.js';

export interface SetUpOptions {
  readonly settings: Settings;
  /** With `signals`. */
  readonly provider: ProviderSettings;
  readonly report: CheckReport;
  /** For the verification event; milliseconds. */
  readonly waitMs: number;
}

/** Interval at which the database is asked whether the event has arrived. */
const POLL_MS = 250;

/** Sets the stream up, and reports what it finds. Ends at the first step that fails. */
export async function setUpSignals(options: SetUpOptions): Promise<void> {
  const http = new ProviderHttp();
  try {
    await new SetUp(options).run(http);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    options.report.add('FAIL', error.part, error.message);
  } finally {
    await http.onApplicationShutdown();
  }
}

class SetUp {
  private readonly steps: Steps;
  /** Where the service receives events. */
  private readonly address: string;

  constructor(private readonly options: SetUpOptions) {
    const { settings, provider } = options;
    this.steps = new Steps(provider);
    this.address = `${settings.publicUrl}/providers/${provider.name}/signals`;
  }

  async run(http: ProviderHttp): Promise<void> {
    const { provider, report } = this.options;
    const transmitter = await this.steps.run('transmitter', () => discoverTransmitter(http, provider));
    const endpoint = this.configurationEndpoint(transmitter);
    const token = await this.steps.run('access token', () => getToken(http, provider));
    this.steps.hide(token);
    report.add('ok', 'access token', `of the client ${provider.clientId}`);
    const calls = new TransmitterCalls(http, token);
    const wanted = { endpoint: this.address, events: requestedEvents(provider.signals?.endedBy) };
    const stream = await connectStream(calls, endpoint, wanted, this.steps, report);
    this.checkStream(stream);
    await this.checkStatus(calls, transmitter, stream);
    if (transmitter.defaultSubjects === 'NONE') report.add('warning', 'subjects', advice.NO_SUBJECTS);
    if (report.count('FAIL') === 0) await this.verify(calls, transmitter, stream);
  }

  private configurationEndpoint(transmitter: Transmitter): string {
    const { issuer, deliveryMethods, jwksUri, configurationEndpoint, specVersion } = transmitter;
    const version = specVersion === undefined ? '' : `, SSF ${this.steps.shown(specVersion)}`;
    this.options.report.add('ok', 'transmitter', this.steps.shown(issuer) + version);
    if (deliveryMethods.length > 0 && !deliveryMethods.includes(PUSH)) {
      const offered = this.steps.list(deliveryMethods);
      throw new StepFailed('transmitter', `it does not push events (${PUSH}); it offers ${offered}`);
    }
    if (jwksUri === undefined) throw new StepFailed('transmitter', advice.NO_KEYS);
    if (configurationEndpoint !== undefined) return configurationEndpoint;
    throw new StepFailed('transmitter', `${advice.NO_CONFIGURATION} ${this.address}`);
  }

  private checkStream({ audience, delivered }: Stream): void {
    const { settings, provider, report } = this.options;
    report.add('ok', 'address', this.address);
    const accepted = [settings.publicUrl, provider.signals?.audience];
    if (audience.length > 0 && !audience.some((one) => accepted.includes(one))) {
      const variable = siblingVariable(provider.variables.adapter, 'signals_audience');
      const seen = `the events are for ${this.steps.list(audience)}`;
      report.add('FAIL', 'audience', `${seen}: set ${variable} to it, and restart the service`);
    }
    if (delivered?.length === 0) report.add('FAIL', 'events', advice.NO_EVENTS);
    else if (delivered) report.add('ok', 'events', this.steps.list(delivered.map(lastPart)));
  }

  private async checkStatus(calls: TransmitterCalls, { statusEndpoint }: Transmitter, { id }: Stream) {
    if (statusEndpoint === undefined) return;
    const url = new URL(statusEndpoint);
    url.searchParams.set('stream_id', id);
    const answer = await this.steps.run('status', () => calls.send('GET', url.href));
    const { status, reason } = (answer ?? {}) as { status?: unknown; reason?: unknown };
    if (status === 'enabled') return;
    const why = reason === undefined ? '' : ` (${this.steps.shown(reason)})`;
    const seen = `the stream is ${this.steps.shown(status)}${why}`;
    this.options.report.add('FAIL', 'status', `${seen}: enable it at the transmitter`);
  }

  private async verify(calls: TransmitterCalls, { verificationEndpoint: url }: Transmitter, { id }: Stream) {
    const { settings, provider, report } = this.options;
    if (url === undefined) return report.add('warning', 'verification', advice.NO_VERIFICATION);
    const arrivals = await openArrivals(settings, provider.name).catch((error: unknown) => {
      report.add('warning', 'verification', `${advice.UNSEEN}: ${errorReason(error)}`);
    });
    try {
      const state = randomBytes(16).toString('hex');
      await this.steps.run('verification', () => calls.send('POST', url, { stream_id: id, state }));
      if (arrivals) await this.waitFor(arrivals, state);
    } finally {
      await arrivals?.close();
    }
  }

  private async waitFor(arrivals: Arrivals, state: string): Promise<void> {
    const { report, waitMs } = this.options;
    const begin = performance.now();
    while (!(await arrivals.has(state))) {
      if (performance.now() - begin >= waitMs) {
        const waited = `the event did not arrive within ${waitMs / 1000} s`;
        throw new StepFailed('verification', `${waited}: ${advice.NOT_ARRIVED}`);
      }
      await delay(POLL_MS);
    }
    report.add('ok', 'verification', 'the event has arrived, and the service accepted it');
  }
}

function lastPart(event: string): string {
  return event.slice(event.lastIndexOf('/') + 1);
}
