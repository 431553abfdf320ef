import { createHash } from 'node:crypto';
import { Html } from '../../http/page/html.js';
import { formScript } from './form-script.js';
import { frameScript } from './frame-script.js';

/** All that runs on the sample provider's pages; each script looks for what it needs, and does nothing where that is missing. */
const SCRIPTS = [formScript, frameScript];

// In one piece each: the policy names them by their hashes, so nothing may be added, not even a space.
export const scriptElements = SCRIPTS.map((script) => new Html(`<script>${script}</script>`));

/** Allows exactly these scripts. */
export const scriptPolicy = `script-src ${SCRIPTS.map(hashOf).join(' ')}`;

function hashOf(script: string): string {
  return `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
}
