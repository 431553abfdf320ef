import { quote, type SettingErrors } from './invalid-settings.js';
import type { Environment } from './setting-row.js';

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
const EXPORTERS = ['otlp', 'console'];
const PROTOCOLS = ['http/protobuf', 'http/json'];

/** Whether variables ask for traces (docs/metrics.md#traces): by an exporter, or else by an endpoint. */
export function wantsTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  const exporters = exportersIn(env);
  if (exporters.length > 0) return exporters.some((name) => EXPORTERS.includes(name));
  return ENDPOINTS.some((name) => (env[name] ?? '').trim() !== '');
}

/** Refuses exporters and protocols that the service does not bring. */
export function checkTraces(env: Environment, errors: SettingErrors): void {
  for (const name of exportersIn(env)) {
    if (![...EXPORTERS, 'none'].includes(name))
      errors.add('OTEL_TRACES_EXPORTER', 'is not supported', 'otlp, console or none', quote(name));
  }
  if (!wantsTraces(env)) return;
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = (env[name] ?? '').trim();
    if (protocol !== '' && !PROTOCOLS.includes(protocol))
      errors.add(name, 'is not supported', PROTOCOLS.join(' or '), quote(protocol));
  }
}

const exportersIn = (env: Environment): string[] =>
  (env['OTEL_TRACES_EXPORTER'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
