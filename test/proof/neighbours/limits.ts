import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** The status of an answer; 101 for a socket's handshake that may go on. */
export async function statusOf(
  url: string,
  path: string,
  options: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: object;
  },
): Promise<number> {
  const { method = 'GET', headers, body } = options;
  const type = body && { 'Content-Type': 'application/json' };
  const call = request(url + path, { method, headers: { ...type, ...headers }, agent: false });
  call.end(body && JSON.stringify(body));
  const [answer] = (await Promise.race([once(call, 'response'), once(call, 'upgrade')])) as [IncomingMessage];
  const status = answer.statusCode!;
  if (status === 101) answer.socket.destroy();
  else answer.resume();
  return status;
}

/** Does something so many times, some at once, with the number of each. @returns what each gave, in the order of the numbers */
export async function manyAtOnce<Result>(
  times: number,
  atOnce: number,
  work: (i: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let i = next++; i < times; i = next++) results[i] = await work(i);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return results;
}
