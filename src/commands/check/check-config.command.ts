import 'reflect-metadata';
import { InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import { loadCommandSettings } from '../../settings.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { CheckReport } from '../../platform/check-report.js';

/** `latchkey check-config`. @returns the exit code: 0 valid, 1 not */
export async function runCheckConfig(): Promise<number> {
  const report = new CheckReport((line) => void process.stdout.write(`${line}\n`));
  try {
    const settings = loadCommandSettings('checked');
    report.add('ok', 'settings', 'valid');
    for (const warning of settings.warnings) report.add('warning', 'settings', warning);
    // loads the ORM, so the settings are validated before
    const { checkConfig } = await import('./check-config.js');
    await checkConfig(settings, report);
  } catch (error) {
    const lines = error instanceof InvalidSettings ? error.errors : [errorReason(error)];
    for (const line of lines) report.add('FAIL', 'settings', line);
  }
  const [errors, warnings] = [report.count('FAIL'), report.count('warning')];
  const counted = `${errors} error${errors === 1 ? '' : 's'}, ${warnings} warning${warnings === 1 ? '' : 's'}`;
  const valid = errors === 0 ? 'Valid' : 'Not valid';
  process.stdout.write(`\n${valid}: ${counted}. Nothing was started or changed.\n`);
  return errors === 0 ? 0 : 1;
}
