import type { Faults } from './invalid-settings.js';
import type { Values } from './settings.js';

/** Refuses one port for two listeners (contract §2). */
export function applyPortRules({ port, metricsPort }: Values, faults: Faults): void {
  if (metricsPort !== port || faults.has('PORT')) return;
  faults.add('METRICS_PORT', `was "${metricsPort}"`, 'another port than PORT, or none');
}
