import type { Environment } from './setting-row.js';

/** OpenTelemetry's own variables that ask for traces (contract §2), unless they name the exporters. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
const NAMES = 'OTEL_TRACES_EXPORTER';
/** Those that its SDK brings along; it says nothing of others. */
const EXPORTERS = ['otlp', 'zipkin', 'console'];
const SAMPLER = 'OTEL_TRACES_SAMPLER';
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]);
const OF_OPEN_TELEMETRY = /^OTEL_[A-Z0-9_]+$/;

/** Whether traces are wanted: by an endpoint, or an exporter, and not switched off. */
export function wantsTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  const named = exportersIn(env);
  if (named.length > 0) return named.some((name) => EXPORTERS.includes(name));
  return ENDPOINTS.some((name) => (env[name] ?? '').trim() !== '');
}

/** Warns of exporters and of a sampler that there are not. */
export function traceWarnings(env: Environment): readonly string[] {
  const known = exportersIn(env).every((name) => [...EXPORTERS, 'none'].includes(name));
  const sampler = env[SAMPLER]?.trim() ?? '';
  return [
    ...(known ? [] : [`${NAMES} names an exporter that is none of ${EXPORTERS.join(', ')}: it is left out.`]),
    ...(sampler === '' || SAMPLERS.includes(sampler)
      ? []
      : [`${SAMPLER} is none of ${SAMPLERS.join(', ')}: parentbased_always_on is used.`]),
  ];
}

function exportersIn(env: Environment): readonly string[] {
  const names = (env[NAMES] ?? '').split(',').map((name) => name.trim());
  return names.filter((name) => name !== '');
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
