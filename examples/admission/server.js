// Decides who may sign in (docs/guides/access-policy.md#ask-a-service-of-yours).
// ADMISSION_SECRET=whsec_… node examples/admission/server.js
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.ADMISSION_SECRET);
const seats = new Map([['corp/42', { plan: 'pro', roles: ['editor'] }]]); // in a database

function decide({ provider, provider_user_id, new_user }) {
  const seat = seats.get(`${provider}/${provider_user_id}`);
  if (seat) return { allow: true, claims: seat };
  return { allow: false, message: new_user ? 'no seat for this account' : 'the seat was taken away' };
}

async function answer(request, response) {
  const { data } = webhook.verify(await text(request), request.headers); // throws if it is forged
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(decide(data)));
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.writeHead(400).end());
});
server.listen(process.env.PORT ?? 4001, '127.0.0.1', () => console.log('asked at', server.address().port));
