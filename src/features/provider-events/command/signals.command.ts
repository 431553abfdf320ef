import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { Logger } from '@nestjs/common';
import { CheckReport } from '../../../platform/check-report.js';
import { openIdProviders, withPreset } from '../../../platform/config/providers/presets.js';
import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { siblingVariable } from '../../../platform/config/providers/provider-variables.js';
import { InvalidSettings } from '../../../platform/config/settings/invalid-settings.js';
import type { LoadSettings } from '../../../extensions.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { maskedText } from '../../../provider/errors/log-line.js';

const WAIT_SECONDS = 30;
const MAX_LINE = 2000; // characters

const USAGE = `Usage: latchkey signals <name> [--wait S]

Connects the transmitter of a provider with signals=on to the running service: reads its metadata, creates or updates the one
stream that pushes to PUBLIC_URL/providers/<name>/signals, asks for a verification event, and says whether it arrived.
May be repeated. The client of the provider's settings asks for the scopes ssf.read and ssf.manage. See docs/signals.md.

  --wait S   seconds to wait for the verification event (${WAIT_SECONDS})

Exit code 0: the stream is set up. 1: it is not, or the event did not arrive. 2: wrong usage.
`;

interface Arguments {
  readonly name: string;
  readonly waitMs: number;
}

/** Runs `latchkey signals <name>` (docs/signals.md#the-command). @returns the exit code */
export async function runSignals(argv: readonly string[], load: LoadSettings): Promise<number> {
  const options = parseArguments(argv);
  if (!options || options === 'help') {
    (options ? process.stdout : process.stderr).write(USAGE);
    return options ? 0 : 2;
  }
  Logger.overrideLogger(false); // the report has the findings
  const secrets: string[] = [];
  // Lines quote the transmitter, which may repeat secrets.
  const print = (line: string) => void process.stdout.write(`${maskedText(line, secrets, MAX_LINE)}\n`);
  const report = new CheckReport(print);
  try {
    const settings = await load('none');
    const provider = providerOf(settings, options.name);
    if (typeof provider === 'string') report.add('FAIL', 'settings', provider);
    else {
      secrets.push(provider.clientSecret);
      // loads the ORM, so arguments and settings are validated before
      const { setUpSignals } = await import('./set-up.js');
      await setUpSignals({ settings, provider, report, secrets, waitMs: options.waitMs });
    }
  } catch (error) {
    if (!(error instanceof InvalidSettings)) throw error;
    for (const line of error.errors) report.add('FAIL', 'settings', line);
  }
  const isDone = report.count('FAIL') === 0;
  process.stdout.write(isDone ? '\nThe stream is set up.\n' : '\nSignals do not arrive yet.\n');
  return isDone ? 0 : 1;
}

/** @returns the provider, or why it has no signals */
function providerOf(settings: Settings, name: string): ProviderSettings | string {
  const speakers = openIdProviders(settings);
  const configured = speakers.includes(name) ? settings.providers.get(name) : undefined;
  if (!configured) {
    const names = speakers.join(', ');
    return `no provider of this name is configured and enabled; of OpenID Connect there are: ${names || 'none'}`;
  }
  if (configured.signals) return withPreset(configured);
  return `signals are off: set ${siblingVariable(configured.variables.adapter, 'signals')} to on, and restart the service`;
}

function parseArguments(argv: readonly string[]): Arguments | 'help' | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { wait: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) return 'help';
    const [name, ...rest] = positionals;
    const { wait = String(WAIT_SECONDS) } = values;
    if (name === undefined || rest.length > 0 || !/^\d{1,4}$/.test(wait)) return undefined;
    return { name, waitMs: Number(wait) * 1000 };
  } catch {
    return undefined; // an unknown option
  }
}
