import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { needs } from './installed.js';

/** Preferred, if installed: it takes less CPU time than the whole browser. */
const SHELL = '/usr/bin/chromium-headless-shell';
const CHROMIUM = process.env['CHROMIUM'] ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium');

const isThere = existsSync(CHROMIUM) || process.env['CI'] !== undefined; // CI must have it: there the launch fails

/** A block of tests that need a browser. */
export function inChromium(name: string, tests: () => void): void {
  needs({ chromium: isThere }).describe(name, tests);
}

export function launchChromium(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
  args.push('--disable-background-networking', '--disable-component-update');
  return chromium.launch({ executablePath: CHROMIUM, args });
}
