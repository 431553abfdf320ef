import type { Request, Response } from 'express';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { renderPage } from '../../platform/http/page/layout.js';
import type { Next } from './client-sign-ins.js';

const NEVER_FRAMED = "frame-ancestors 'none'";
/** Policy of pages without forms, against clickjacking (RFC 9700 §4.16). */
export const UNFRAMED = ["form-action 'none'", NEVER_FRAMED] as const;

/**
 * HEAD must change nothing (RFC 9110 §9.2.1), and these requests begin a sign-in or end it.
 * @throws OAuthError
 */
export function refuseHead({ method }: Request): void {
  if (method !== 'HEAD') return;
  throw new OAuthError('method_not_allowed', 'a sign-in needs GET', { headers: { Allow: 'GET' } });
}

/** Sends the browser on, or shows it a page. @returns the body, for Nest to send */
export function sendNext(next: Next, response: Response): string {
  if ('page' in next) {
    if (next.refresh !== undefined) response.setHeader('Refresh', `0; url=${next.refresh}`);
    return renderPage(
      response,
      next.page,
      ...(next.hasForm ? ["form-action 'self'", NEVER_FRAMED] : UNFRAMED),
    );
  }
  if (next.cookies?.length) response.setHeader('Set-Cookie', next.cookies);
  response.status(302).setHeader('Location', next.address);
  return '';
}
