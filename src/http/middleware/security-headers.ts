import type { RequestHandler } from 'express';

/** The headers of every answer that is neither a page nor a file, also where Express does not answer (contract §3). */
export const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer', // addresses carry code and state (spec §1)
  'X-Content-Type-Options': 'nosniff',
} as const;
const OF_EVERY_ANSWER = Object.entries(ANSWER_HEADERS);

/**
 * The headers that every answer carries (contract §3). A page of our own replaces the policy and the caching by its own;
 * all other answers may be neither framed nor stored.
 */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of OF_EVERY_ANSWER) response.setHeader(name, value);
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  response.setHeader('Vary', 'Origin');
  next();
};
