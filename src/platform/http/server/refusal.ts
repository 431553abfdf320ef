import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { OAuthError } from '../../errors/oauth-error.js';
import { ANSWER_HEADERS } from '../middleware/security-headers.js';

/** Answers with an error if a request does not reach Express. */
export function refuse(response: ServerResponse, refusal: OAuthError): void {
  const { headers, body } = answerOf(refusal);
  response.writeHead(refusal.status, headers).end(body);
}

/** Returns the answer as text for a connection that ends after it. @param now ms since the epoch */
export function refusalText(refusal: OAuthError, now: number): string {
  const { headers, body } = answerOf(refusal);
  const lines = Object.entries({ Date: new Date(now).toUTCString(), ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`;
}

function answerOf(refusal: OAuthError): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(refusal.body);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    ...ANSWER_HEADERS,
    ...refusal.headers,
  };
  return { headers, body };
}
