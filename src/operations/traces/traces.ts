import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api';
import { getStringFromEnv, getStringListFromEnv } from '@opentelemetry/core';
// Node 20: 0.223 and 2.12 are the last lines that run on it
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  processDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import { traceWith } from '../../platform/spans.js';
import { makeTracer } from './tracer.js';

const WARN_EVERY_MS = 60_000;
const FLUSH_TIMEOUT_MS = 2000;

/**
 * Starts tracing, as OpenTelemetry's variables say; start/start.ts imports this file only then.
 * @returns sends the remaining spans; to be called when the service has stopped
 */
export function startTraces(log: Logger): () => Promise<void> {
  diag.setLogger(warnOnce(log), { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const provider = new NodeTracerProvider({
    // OTEL_SERVICE_NAME wins
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'latchkey' }))
      .merge(detectResources({ detectors: [hostDetector, processDetector, envDetector] })),
    spanProcessors: processors(),
  });
  const propagators = getStringListFromEnv('OTEL_PROPAGATORS') ?? [];
  const adopts = propagators.length === 0 || propagators.includes('tracecontext');
  provider.register(adopts ? {} : { propagator: null });
  traceWith(makeTracer());
  log.info('traces are exported, as the variables of OpenTelemetry say');
  return async () => {
    await Promise.race([provider.shutdown().catch(() => undefined), delay(FLUSH_TIMEOUT_MS)]);
  };
}

/** Sampler, limits and batches are read from the variables by the library itself. */
function processors(): SpanProcessor[] {
  const exporters = getStringListFromEnv('OTEL_TRACES_EXPORTER') ?? [];
  const protocol =
    getStringFromEnv('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? getStringFromEnv('OTEL_EXPORTER_OTLP_PROTOCOL');
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  return [
    ...(exporters.includes('console') ? [new SimpleSpanProcessor(new ConsoleSpanExporter())] : []),
    ...(exporters.length === 0 || exporters.includes('otlp') ? [new BatchSpanProcessor(new Exporter())] : []),
  ];
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

/** OpenTelemetry reports an error as JSON with all properties; the log needs the code or the status. */
function reasonOf(message: string): string {
  try {
    const { code, name } = JSON.parse(message) as { code?: unknown; name?: unknown };
    return String(code ?? name);
  } catch {
    return 'unknown'; // not an error of its exporters
  }
}
