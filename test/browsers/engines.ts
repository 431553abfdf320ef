import { existsSync } from 'node:fs';
import type { Browser } from './browser.js';
import { launchPuppeteer } from './puppeteer.js';
import { launchWebKit } from './webkit.js';

/** A browser to run the tests in. */
export interface Engine {
  /** Candidates; the first existing file counts. */
  readonly programs: readonly string[];
  /** The packages of Debian that bring them. */
  readonly packages: string;
  readonly launch: (program: string) => Promise<Browser>;
  /** Whether it shows windows, and so needs a display. */
  readonly needsDisplay: boolean;
}

export const ENGINES: Readonly<Record<string, Engine>> = {
  chromium: {
    // The whole browser: the shell without windows blocks no popups, and has no cache for the way back.
    programs: ['/usr/bin/chromium'],
    packages: 'chromium',
    launch: (program) => launchPuppeteer('chrome', program),
    needsDisplay: false,
  },
  firefox: {
    programs: ['/usr/bin/firefox-esr', '/usr/bin/firefox'],
    packages: 'firefox-esr',
    launch: (program) => launchPuppeteer('firefox', program),
    needsDisplay: false,
  },
  webkit: {
    programs: ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/webkit2gtk-4.1/MiniBrowser`),
    packages: 'webkit2gtk-driver xvfb',
    launch: launchWebKit,
    needsDisplay: true,
  },
};

/** Returns the program of an engine; undefined if it is not installed. */
export function installed({ programs, needsDisplay }: Engine): string | undefined {
  if (needsDisplay && !existsSync('/usr/bin/xvfb-run')) return undefined;
  return programs.find((program) => existsSync(program));
}

/** The engine of this run, which `npm run test:all -- browsers` names. */
export const ENGINE = process.env['BROWSER'] ?? 'chromium';

export function launchEngine(): Promise<Browser> {
  const engine = ENGINES[ENGINE];
  const program = engine && installed(engine);
  if (!program) throw new Error(`BROWSER=${ENGINE}: one of ${Object.keys(ENGINES).join(', ')}, installed`);
  return engine.launch(program);
}
