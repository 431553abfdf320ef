// Decides who may sign in (docs/guides/access-policy.md#ask-a-service-of-yours).
// ADMISSION_SECRET=whsec_… node examples/admission/server.js
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.ADMISSION_SECRET);
const seats = new Map([['corp/42', { plan: 'pro', roles: ['editor'] }]]); // in a database

async function decide({ provider, provider_user_id, new_user }) {
  const seat = seats.get(`${provider}/${provider_user_id}`);
  if (seat) return { allow: true, claims: seat };
  return { allow: false, message: new_user ? 'no seat for this account' : 'the seat was taken away' };
}

const server = createServer(async (request, response) => {
  let question;
  try {
    question = webhook.verify(await text(request), request.headers);
  } catch {
    return response.writeHead(400).end(); // forged
  }
  const answer = await decide(question.data);
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
});
server.listen(process.env.PORT ?? 4001, '127.0.0.1', () => console.log('asked at', server.address().port));
