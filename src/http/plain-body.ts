import type { IncomingMessage } from 'node:http';
import { currentTracer } from '../spans.js';

/** Bytes of a body, unpacked (contract §3). */
export const LARGEST_BODY = 64 * 1024;

/**
 * Whether a body comes as nearly all do: JSON, its length said before, within the limit, neither compressed nor in chunks.
 * body-parser reads all others. In a loop it takes 4 µs for these, mostly to look for what they do not have; this takes 1.2, with
 * read-json.ts. In a busy service each costs two to three times as much.
 */
export function isPlainJson({ headers }: IncomingMessage): boolean {
  return (
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length']) <= LARGEST_BODY
  );
}

/**
 * Reads such a body. Node.js has judged `Content-Length`: a body is never longer, and one that is shorter has been cut off.
 *
 * @param done called once: with all of the body, or with undefined where the connection broke off before its end
 */
export function readPlainBody(request: IncomingMessage, done: (bytes: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  const tell = currentTracer()?.bind(done) ?? done; // the events of a request belong to no span
  let isDone = false;
  const end = (): void => {
    if (isDone) return;
    isDone = true;
    tell(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  };
  const fail = (): void => {
    if (isDone) return;
    isDone = true;
    tell(undefined);
  };
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', end).on('aborted', fail).on('error', fail);
}
