import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { style } from './style.js';

/** Allows the style by its hash; no scripts, and nothing from other origins. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
];

/** Sets the headers of a page (contract §3). @param more directives: without `frame-ancestors`, any site may frame the page */
export function setPageHeaders(response: Response, ...more: readonly string[]): void {
  response.setHeader('Content-Security-Policy', [...POLICY, ...more].join('; '));
  response.setHeader('Content-Type', 'text/html; charset=utf-8'); // spec §4.5.1, 5
}
