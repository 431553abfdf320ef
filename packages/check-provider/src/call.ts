import type { Answer, NoAnswer, Reply } from './reply.js';

const TIME_LIMIT = 5; // seconds, as in the service
const SIZE_LIMIT = 64 * 1024; // bytes, as in the service

/** One HTTP call, at most 5 s; follows no redirects. The body is left unread. */
export async function open(url: string, init: RequestInit): Promise<Response | NoAnswer> {
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT * 1000) });
  } catch (error) {
    return noAnswer(error);
  }
}

/** One HTTP call with its whole answer: at most 5 s and 64 KiB; follows no redirects. */
export async function call(url: string, init: RequestInit): Promise<Reply> {
  const response = await open(url, init);
  if (!(response instanceof Response)) return response;
  try {
    const bytes = await read(response);
    if (!bytes) return { problem: `answered ${response.status} with more than 64 KiB`, away: false };
    return { status: response.status, headers: response.headers, body: parse(bytes) } satisfies Answer;
  } catch (error) {
    return { ...noAnswer(error), away: false }; // it had begun to answer
  }
}

/** The body; undefined as soon as it is too large. */
async function read({ body }: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > SIZE_LIMIT) return undefined; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** JSON in UTF-8, as the service reads it; undefined when it is not. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

function noAnswer(error: unknown): NoAnswer {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return { problem: `no complete answer within ${TIME_LIMIT} s`, away: false };
  if (cause?.code === 'UND_ERR_HEADERS_OVERFLOW')
    return { problem: 'answered with headers over 16 KiB', away: false };
  return { problem: `no answer (${cause?.code ?? cause?.message ?? message})`, away: true };
}
