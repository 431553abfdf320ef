import { hash } from 'node:crypto';
import type { Response } from 'express';
import { html, Html } from '../../http/page/html.js';
import { layout as page } from '../../http/page/layout.js';
import { setPageHeaders } from '../../http/page/page-headers.js';
import { formScript, frameScript } from './scripts.js';

const NAME = 'Sample identity provider';
const SCRIPTS = [formScript, frameScript];
const hashes = SCRIPTS.map((script) => `'sha256-${hash('sha256', script, 'base64')}'`);
// The policy has their hashes, so not even a space may be added.
const scriptElements = SCRIPTS.map((script) => new Html(`<script>${script}</script>`));

/** Frame of every page of the sample provider. @param title what the page is about */
export function layout(title: string, content: Html): Html {
  return page({ title: `${title}: ${NAME}`, brand: NAME }, html`${content}${scriptElements}`);
}

/**
 * Sends a page that any site may frame: its policy has no `frame-ancestors` (spec §4.5.1), and no `form-action`, which would block
 * the redirect after the form.
 */
export function sendPage(response: Response, status: number, content: Html): void {
  setPageHeaders(response, `script-src ${hashes.join(' ')}`);
  response.status(status).send(content.text);
}
