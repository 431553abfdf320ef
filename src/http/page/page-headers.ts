import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { style } from './style.js';

/** Nothing from elsewhere, the one style by its hash, and no scripts unless the page's own directives name them. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
];

/**
 * Says that the answer is a page of ours; all other headers are those of every answer (contract §3).
 * @param more directives of the page's own: without `frame-ancestors` any site may frame it
 */
export function setPageHeaders(response: Response, ...more: readonly string[]): void {
  response.setHeader('Content-Security-Policy', [...POLICY, ...more].join('; '));
  response.setHeader('Content-Type', 'text/html; charset=utf-8'); // spec §4.5.1, 5
}
