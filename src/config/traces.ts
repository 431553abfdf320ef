import type { Environment } from './setting-row.js';

/** OpenTelemetry's own variables that ask for traces (contract §2). */
const ASKING = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'];
const OF_OPEN_TELEMETRY = /^OTEL_[A-Z0-9_]+$/;

/** Whether traces are wanted: by an endpoint, or an exporter, and not switched off. */
export function wantsTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  if (env['OTEL_TRACES_EXPORTER']?.trim().toLowerCase() === 'none') return false;
  return ASKING.some((name) => (env[name] ?? '').trim() !== '');
}

/**
 * OpenTelemetry reads its variables from the environment, so those of `.env` are put there; the environment wins.
 * @param dotEnv what `.env` says
 */
export function passOnToOpenTelemetry(dotEnv: Environment): void {
  for (const [name, value] of Object.entries(dotEnv)) {
    if (OF_OPEN_TELEMETRY.test(name)) process.env[name] ??= value;
  }
}
