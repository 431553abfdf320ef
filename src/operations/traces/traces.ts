import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api';
// Node 20: 0.223 is the last line that runs on it
import { NodeSDK, resources } from '@opentelemetry/sdk-node';
import type { Logger } from 'pino';
import { traceWith } from '../../spans.js';
import { makeTracer } from './tracer.js';

const WARN_EVERY_MS = 60_000;
const FLUSH_TIMEOUT_MS = 2000;

/**
 * Starts tracing, as OpenTelemetry's own variables say. start/start.ts imports this file only if those
 * variables ask for traces.
 * @returns sends the remaining spans; to be called when the service has stopped
 */
export function startTraces(log: Logger): () => Promise<void> {
  diag.setLogger(warnOnce(log), { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const { defaultResource, resourceFromAttributes } = resources;
  const sdk = new NodeSDK({
    // OTEL_SERVICE_NAME wins
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': 'latchkey' })),
    instrumentations: [],
    metricReaders: [], // metrics and logs do not use OpenTelemetry
    logRecordProcessors: [],
  });
  sdk.start();
  traceWith(makeTracer());
  log.info('traces are exported, as the variables of OpenTelemetry say');
  return async () => {
    await Promise.race([sdk.shutdown().catch(() => undefined), delay(FLUSH_TIMEOUT_MS)]);
  };
}

/** While the collector is unavailable, each batch of spans fails and is dropped: logged once a minute. */
function warnOnce(log: Logger): DiagLogger {
  let warnedAt = -Infinity;
  const ignore = (): void => undefined;
  return {
    error: (message) => {
      if (performance.now() - warnedAt < WARN_EVERY_MS) return;
      warnedAt = performance.now();
      log.warn({ context: 'Traces', reason: reasonOf(message) }, 'traces cannot be exported');
    },
    warn: ignore,
    info: ignore,
    debug: ignore,
    verbose: ignore,
  };
}

/**
 * OpenTelemetry reports an error as JSON with all of its properties; the log needs the code or the status.
 */
function reasonOf(message: string): string {
  try {
    const { code, name } = JSON.parse(message) as { code?: unknown; name?: unknown };
    return String(code ?? name);
  } catch {
    return 'unknown'; // not an error of its exporters
  }
}
