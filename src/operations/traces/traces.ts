import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api';
import { NodeSDK, resources } from '@opentelemetry/sdk-node'; // Node 20: 0.223 is the last line that runs on it
import type { Logger } from 'pino';
import { traceWith } from '../../spans.js';
import { makeTracer } from './tracer.js';

const WARN_EVERY_MS = 60_000;
/** How long the last spans may take to be sent when the service stops. */
const FAREWELL_MS = 2000;

/**
 * Begins to trace, as OpenTelemetry's variables say: exporter, protocol, sampler, propagators, limits. Its SDK reads them
 * itself. Metrics and logs have their own ways (`/metrics`, standard output), so none are sent by it.
 * Only serve.ts imports this file, where those variables ask for traces: without them none of OpenTelemetry is loaded.
 *
 * @returns to be called when the service has stopped: sends what is left
 */
export function startTraces(log: Logger): () => Promise<void> {
  diag.setLogger(warnOnce(log), { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const { defaultResource, resourceFromAttributes } = resources;
  const sdk = new NodeSDK({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': 'latchkey' })), // OTEL_SERVICE_NAME wins
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  traceWith(makeTracer());
  log.info('traces are exported, as the variables of OpenTelemetry say');
  return async () => {
    await Promise.race([sdk.shutdown().catch(() => undefined), delay(FAREWELL_MS)]);
  };
}

/** While the collector is away every batch of spans fails, and is dropped: the log says so once a minute. */
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

/** OpenTelemetry tells of errors as JSON with everything they hold; the code, or the status of the answer, is enough. */
function reasonOf(message: string): string {
  try {
    const { code, name } = JSON.parse(message) as { code?: unknown; name?: unknown };
    return String(code ?? name);
  } catch {
    return 'unknown'; // not an error of its exporters
  }
}
