import type { Response } from 'express';

/** Sends the user back: 302 to `<redirect_uri>?code=<code>&state=<state>` (spec §4.5.1, 3); the URI's own query is kept. */
export function sendRedirect(
  response: Response,
  redirectUri: string,
  { code, state }: { readonly code: string; readonly state: string },
): void {
  const separator = redirectUri.includes('?') ? '&' : '?';
  const query = `code=${encodeURIComponent(code)}&state=${encodeURIComponent(state)}`;
  response.removeHeader('Content-Security-Policy'); // it forbids framing, and this answer comes in a frame
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Location', redirectUri + separator + query);
  response.status(302).end();
}
