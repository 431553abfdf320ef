import { createServer } from 'node:http';
import { identityOf } from './names.js';
import { listen } from './parent.js';

// An identity provider (spec §4.5.2) that answers at once, so that the service is measured and not the provider.
const server = createServer((request, response) => {
  let form = '';
  request.setEncoding('latin1');
  request.on('data', (chunk: string) => (form += chunk));
  request.on('end', () => {
    const code = /(?:^|&)code=([^&]*)/.exec(form)?.[1] ?? '';
    const body = JSON.stringify(identityOf(code));
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});

await listen(server);
