import { request } from 'node:http';
import { json } from 'node:stream/consumers';

interface CallAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface Call {
  readonly answer: Promise<CallAnswer | undefined>;
  /** Whether `answer` has come, or cannot come any more. */
  isOver(): boolean;
}

export function post(url: string, body: object): Call {
  const headers = { 'Content-Type': 'application/json' };
  const call = request(url, { method: 'POST', agent: false, headers });
  let over = false;
  const answer = new Promise<CallAnswer | undefined>((resolve) => {
    call.on('error', () => resolve(undefined));
    call.on('response', (response) => {
      json(response).then(
        (value) => resolve({ status: response.statusCode!, body: value as CallAnswer['body'] }),
        () => resolve(undefined),
      );
    });
  });
  void answer.then(() => (over = true));
  call.end(JSON.stringify(body));
  return { answer, isOver: () => over };
}
