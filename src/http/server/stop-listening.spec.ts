import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { stopListening } from './stop-listening.js';

describe('stopListening', () => {
  it('serves the connections that the kernel has taken already, and no others', async () => {
    const server = createServer((_request, response) => response.end('served')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    // Connected at once, by the kernel: this process has not been told yet.
    const answers = Array.from({ length: 20 }, () => {
      const socket = connect(port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n');
      return text(socket);
    });
    await stopListening(server);
    for (const answer of await Promise.all(answers)) expect(answer).toContain('served');
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
