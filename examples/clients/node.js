// node examples/clients/node.js https://id.example ACCESS_TOKEN [OFFSET]
import { io } from 'socket.io-client';

const [url, token, offset] = process.argv.slice(2);
const socket = io(url, { transports: ['websocket'], auth: { token, offset: offset && Number(offset) } });

socket.onAny((event, data, meta) => console.log(JSON.stringify({ event, data, offset: meta?.offset })));
socket.on('connect_error', ({ message, data }) => {
  if (socket.active) return console.error(`no connection (${message}), trying again`);
  console.error(`refused: ${data ? `${data.error}, ${data.error_description}` : message}`);
  process.exitCode = 1;
});
socket.on('disconnect', () => socket.active || process.exit()); // signed out or expired: reconnecting would be refused
