import type { RequestHandler } from 'express';

/** Headers of all answers that are neither a page nor a file. */
export const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer', // URLs carry code and state (spec §1)
  'X-Content-Type-Options': 'nosniff',
} as const;
const ENTRIES = Object.entries(ANSWER_HEADERS);

/** Sets the headers of all answers. Pages replace the policy and the caching. */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of ENTRIES) response.setHeader(name, value);
  response.setHeader('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  response.setHeader('Vary', 'Origin');
  next();
};
