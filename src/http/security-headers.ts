import type { RequestHandler } from 'express';

/**
 * The headers that every answer carries (contract §3). A page of our own replaces the policy and the caching by its own;
 * whatever does not may be neither framed nor stored.
 */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  response.setHeader('Referrer-Policy', 'no-referrer'); // addresses carry code and state (spec §1)
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Vary', 'Origin');
  next();
};
