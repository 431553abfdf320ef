// The least that a server in Node.js can do with a storm of sockets and with refreshes: no queue, no token, no database, no
// Socket.IO. What refreshes wait for here is of the machine: accepting connections, kernel, and the clients on the other processor.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const ANSWER = JSON.stringify({ access_token: 'x'.repeat(600), expires_in: 3600 });

const frame = (text) => Buffer.concat([Buffer.from([129, text.length]), Buffer.from(text)]);

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response
      .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': ANSWER.length })
      .end(ANSWER);
  });
});
server.on('upgrade', (request, socket) => {
  const key = createHash('sha1')
    .update(request.headers['sec-websocket-key'] + MAGIC)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
  );
  socket.write(frame('0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000}'));
  socket.once('data', () => socket.write(frame('42["ready",{}]')));
  socket.on('error', () => undefined);
  socket.on('end', () => socket.destroy()); // sockets of node:http stay open until both sides end
});
// As the service: clients come to several addresses of the machine (storm-clients.mjs).
server.listen(0, '0.0.0.0', 4096, () => process.send(server.address().port));
process.once('disconnect', () => process.exit(0));
