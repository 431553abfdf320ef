import type { IncomingMessage } from 'node:http';

/** A request as the gate saw it; times by this machine's clock, in milliseconds. */
export interface Seen {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly proof?: string;
  /** When it was answered, or its connection ended. */
  ended?: number;
  /** What the browser was answered; 0: the answer was lost. */
  status?: number;
  /** Whether its answer was handed over whole. */
  delivered?: boolean;
  broken?: boolean;
}

/** Milliseconds from a proof, or from when a token was taken, until the request that has it arrives. */
export const ON_ITS_WAY_MS = 300;

export function isResent(before: Seen, later: Seen): boolean {
  const isLost = before.broken || !before.status || before.delivered === false;
  return before.proof !== undefined && before.proof === later.proof && isLost && before.ended! <= later.at;
}

/** A request that has just come. */
export function seenOf({ method = '', url = '', headers }: IncomingMessage): Seen {
  const { pathname: path } = new URL(url, 'http://gate');
  const proof = headers['dpop'];
  return { at: Date.now(), method, path, ...(proof && { proof: String(proof) }) };
}
