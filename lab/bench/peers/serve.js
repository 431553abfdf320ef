import { once } from 'node:events';

process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.once('disconnect', () => process.exit(0));

export async function serve(server, more) {
  server.listen(0, '127.0.0.1', 1024);
  await once(server, 'listening');
  process.send({ port: server.address().port, ...more });
}

/** The bytes of a request without a body. */
export const get = (path, headers) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines(headers)}\r\n`;

/** The bytes of a request with a form. */
export const postForm = (path, fields, headers = {}) => {
  const form = new URLSearchParams(fields).toString();
  const all = {
    ...headers,
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': form.length,
  };
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines(all)}\r\n${form}`;
};

const lines = (headers) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
