import type { IncomingMessage } from 'node:http';
import { claimsOf } from '../../test/support/sign-in.js';
import { keyOf } from './key-of.js';

/** A request, or a handshake of a socket (`WS`), as the gate saw it; times by this machine's clock, in milliseconds. */
export interface Seen {
  readonly at: number;
  /** When the application asked for it; `at` where it did not say so. */
  readonly begun: number;
  readonly method: string;
  readonly path: string;
  /** When its token ends, by the token's own claim; seconds since the epoch. Absent: it brought none. */
  readonly exp?: number;
  /** The key that signed its token. */
  readonly kid?: string;
  /** The proof of possession that it brought: the same one again is the same request, sent again by the browser. */
  readonly proof?: string;
  /** When that was made, by the service's time as the device knew it; milliseconds since the epoch. */
  readonly proved?: number;
  /** When it was answered, or its connection ended. */
  ended?: number;
  /** What the browser was answered; 0: the answer was lost. */
  status?: number;
  /** Code and text of the answer, where that was a refusal. */
  refusal?: string;
  /** Whether its answer was handed over whole. */
  delivered?: boolean;
  /** Whether its connection was broken before the browser can have read an answer: it may send the same again. */
  broken?: boolean;
  /** Whether the gate sent it a second time, so that the browser got the second answer. */
  twice?: boolean;
  /** Seconds for which the browser was told to wait. */
  retryAfter?: number;
}

/** Milliseconds from a proof, or from when a token was taken, until the request that has it arrives. */
export const ON_ITS_WAY_MS = 300;

/** Whether the browser itself sends a request again: the same proof, since the connection of the one before broke. */
export function isResent(before: Seen, later: Seen): boolean {
  const isLost = before.broken || !before.status || before.delivered === false;
  return before.proof !== undefined && before.proof === later.proof && isLost && before.ended! <= later.at;
}

/** A request that has just come. */
export function seenOf({ method = '', url = '', headers }: IncomingMessage): Seen {
  const at = Date.now();
  const { pathname, searchParams } = new URL(url, 'http://gate');
  const begun = searchParams.get('begun');
  const proof = headers['dpop'];
  return {
    at,
    begun: begun ? Number(begun) : at,
    method,
    path: pathname,
    ...(proof && { proof: String(proof), proved: (claimsOf(String(proof))['iat'] as number) * 1000 }),
    ...facts(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]),
  };
}

/** A socket's handshake. @param at when its connection came */
export function handshakeOf(token: string, at: number): Seen {
  return { at, begun: at, method: 'WS', path: '/socket.io/', ...facts(token) };
}

/** Code and text of an answer that is a refusal. */
export function refusalOf(text: Buffer): string {
  const { error, error_description: description } = JSON.parse(text.toString()) as Record<string, string>;
  return `${error}: ${description}`;
}

/** When a token ends, and its key; nothing where it is none of the service's. */
function facts(token: string | undefined): { exp?: number; kid?: string } {
  if (!token?.startsWith('eyJ')) return {};
  return { exp: claimsOf(token)['exp'] as number, kid: keyOf(token) };
}
