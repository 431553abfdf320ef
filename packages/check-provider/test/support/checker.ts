import {
  spawn,
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
} from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { runCommand, type ServiceChecks } from '../../src/command.js';

const MAIN = fileURLToPath(new URL('../../../../dist/src/main.js', import.meta.url));

export interface Checked {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface JsonReport {
  readonly version: number;
  readonly provider: string | null;
  readonly ok: boolean;
  readonly error: string | null;
  readonly results: readonly {
    id: string;
    clause: string;
    title: string;
    level: string;
    verdict: string;
    seen: string;
    mend: string | null;
  }[];
}

/**
 * Runs `latchkey <args>` as a process.
 * @param onAddress called with every address that it asks to be opened; may answer on its standard input
 * @param options of the process
 */
export async function runChecker(
  args: readonly string[],
  onAddress: (address: string, stdin: ChildProcessWithoutNullStreams['stdin']) => void = () => undefined,
  options: SpawnOptionsWithoutStdio = {},
): Promise<Checked> {
  const child = spawn(process.execPath, [MAIN, ...args], options);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const [, address] of text.matchAll(/^Open in a browser: (\S+)$/gm))
        onAddress(address!, child.stdin);
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

/** Does what `latchkey check-provider <args>` does, in this process: faster, for tests without input. */
export async function check(args: readonly string[], service?: ServiceChecks): Promise<Checked> {
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      if (!String(text).includes('[Nest]')) output[name] += String(text); // a line of a service in this process
      return true;
    }),
  );
  try {
    const code = await runCommand('latchkey check-provider', args, service);
    return { code, ...output };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** The ids of the results with a verdict. */
export function idsOf({ results }: JsonReport, verdict: string): string[] {
  return results.filter((result) => result.verdict === verdict).map(({ id }) => id);
}
