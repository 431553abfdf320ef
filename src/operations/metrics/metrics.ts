import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Declared } from '../../platform/declared.js';
import { Clock } from '../../platform/database/clock.js';
import { Events } from '../../platform/events.js';
import { Readiness } from '../readiness.js';
import { channelMetrics } from './channel-metrics.js';
import { databaseMetrics } from './database-metrics.js';
import { httpMetrics } from './http-metrics.js';
import { Meter, Registry } from './meter.js';
import { processRegistry } from './process-metrics.js';
import { signInMetrics } from './sign-in-metrics.js';
import { stateMetrics } from './state-metrics.js';

/** Metrics of this instance for Prometheus (docs/metrics.md). */
@Injectable()
export class Metrics {
  static readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  private readonly meter = new Meter();
  private pending: Promise<string> | undefined;

  constructor(
    events: Events,
    readiness: Readiness,
    dataSource: DataSource,
    clock: Clock,
    @Inject(SETTINGS) settings: Settings,
    { gauges }: Declared,
  ) {
    httpMetrics(this.meter, events);
    signInMetrics(this.meter, events, settings);
    databaseMetrics(this.meter, events, dataSource, clock);
    channelMetrics(this.meter, events);
    stateMetrics(this.meter, events, readiness, gauges);
  }

  /** Returns all metrics in Prometheus' text format. Concurrent scrapes share one reading. */
  text(): Promise<string> {
    this.pending ??= this.read().finally(() => (this.pending = undefined));
    return this.pending;
  }

  private async read(): Promise<string> {
    const parts = await Promise.all([this.meter.registry.metrics(), processRegistry.metrics()]);
    return `${parts.join('\n').trim()}\n`;
  }
}
