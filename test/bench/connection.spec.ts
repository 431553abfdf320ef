import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Connection } from '../../bench/load/connection.js';
import { getRequest, inTurn } from '../../bench/load/script.js';

const LARGE = 'x'.repeat(200_000);

describe("the load generator's connection", () => {
  let server: Server;
  let connection: Connection;
  const failures: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/moved')
        response.writeHead(302, { Location: '/there', 'Set-Cookie': 'a=b; Path=/' }).end();
      else if (request.url === '/chunked') response.write('one', () => response.end(LARGE));
      else response.writeHead(request.url === '/ok' ? 200 : 400, { 'Content-Length': 4 }).end('text');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    connection = await Connection.open(port, ({ message }) => failures.push(message));
  });

  afterAll(async () => {
    connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const ask = (path: string, status?: string): Promise<{ body: string; head: string }> =>
    new Promise((resolve) => {
      connection.send(
        getRequest(path),
        (body, head) => resolve({ body: body.toString(), head: head.toString() }),
        status,
      );
    });

  it('reads answers with a length, in chunks and without a body, one after the other', async () => {
    expect((await ask('/ok')).body).toBe('text');
    expect((await ask('/chunked')).body.replaceAll(/\r\n|[0-9a-f]+\r\n/g, '')).toContain(LARGE);
    const moved = await ask('/moved', '302');
    expect(moved.head).toContain('Set-Cookie: a=b; Path=/\r\n');
    expect((await ask('/ok')).body).toBe('text');
    expect(failures).toEqual([]);
  });

  it('asks in turn, and stops at the first answer without its mark', () => {
    const sent: string[] = [];
    const answers = ['{"active":true}', '{"active":true}', '{"active":false}'];
    const answering = {
      send(request: Buffer, onAnswer: (body: Buffer) => void) {
        sent.push(request.toString());
        onAnswer(Buffer.from(answers[sent.length - 1]!));
      },
    } as unknown as Connection;
    let done = 0;
    const begin = inTurn([Buffer.from('a'), Buffer.from('b')], '"active":true')(answering, () => done++);
    begin();
    begin();
    expect(begin).toThrow('an answer without "active":true');
    expect([sent, done]).toEqual([['a', 'b', 'a'], 2]);
  });

  it('stops at the first answer of another status', async () => {
    connection.send(getRequest('/bad'), () => undefined);
    while (failures.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual(['an answer that is not 200 with a length: HTTP/1.1 400 Bad Request: text']);
  });
});
