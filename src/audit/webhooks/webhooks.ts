import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Background } from '../../platform/background.js';
import { currentSecret } from '../../platform/config/secrets/current-secret.js';
import { settingsTable } from '../../platform/config/settings/settings-table.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Declared } from '../../platform/declared.js';
import { Clock } from '../../platform/database/clock.js';
import { Events } from '../../platform/events.js';
import { ForeignHttp } from '../../platform/http/foreign/foreign-http.js';
import { AuditFeed } from '../audit-feed.js';
import { TIMEOUT_MS, WebhookSender } from './webhook-sender.js';
import { WebhookStore } from './webhook.store.js';

/** A stop waits so long for answers; without them, the events are sent again. */
const STOP_MS = 2000;

/** Sends audit events to WEBHOOK_URLS (docs/webhooks.md); addresses do not wait for each other. */
@Injectable()
export class Webhooks implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Webhooks.name);
  private readonly http: ForeignHttp;
  private readonly senders: readonly WebhookSender[];

  constructor(
    @Inject(SETTINGS) settings: Settings,
    private readonly store: WebhookStore,
    feed: AuditFeed,
    clock: Clock,
    events: Events,
    private readonly background: Background,
    { auditNames }: Declared,
  ) {
    const {
      webhookUrls = [],
      webhookSecret = [],
      // refusals, which strangers cause, only on request
      webhookEvents: names = auditNames.filter((name) => !name.endsWith('_refused')),
      secretFiles,
    } = settings;
    const reach = settings.webhookPrivate ? 'anywhere' : 'internet';
    this.http = new ForeignHttp({ timeoutMs: TIMEOUT_MS, reach, setting: 'WEBHOOK_PRIVATE' });
    const { name, parser } = settingsTable.webhookSecret;
    const warn = (line: string): void => this.logger.warn(line);
    const secret = currentSecret(secretFiles.get(name), parser, webhookSecret, warn);
    let eventsSetAside = 0;
    const setAside = (): void => void eventsSetAside++;
    const parts = { store, feed, http: this.http, clock, secrets: () => secret.recent(), names, setAside };
    this.senders = webhookUrls.map(
      (url, i) => new WebhookSender(url, `Webhook ${i + 1} (${new URL(url).host})`, parts),
    );
    events.on('state.requested', (report) => {
      const delays = this.senders.map(({ delay }) => delay).filter((delay) => delay !== undefined);
      report({ webhookDelay: Math.max(0, ...delays), webhookEventsSetAside: eventsSetAside });
    });
  }

  onApplicationBootstrap(): void {
    for (const sender of this.senders) sender.start();
    const addresses = this.senders.map(({ addressHash }) => addressHash);
    const work = (): Promise<void> => this.store.removeOthers(addresses);
    this.background.repeat('remove-old-webhooks', work, { atStart: true });
  }

  /** The connection pool is closed after this. */
  async beforeApplicationShutdown(): Promise<void> {
    void this.background.stop('remove-old-webhooks');
    const timer = setTimeout(() => void this.http.close(), STOP_MS);
    await Promise.all(this.senders.map((sender) => sender.stop()));
    clearTimeout(timer);
    await this.http.close();
  }
}
