// Sends refreshes at a steady rate, independent of the answers, in a separate process.
import { Agent, request } from 'node:http';

const KEPT = 64;
const NEW_CONNECTION_EVERY = 10;
const agent = new Agent({ keepAlive: true, maxSockets: KEPT, scheduling: 'fifo' });

/** [when it was due, ms from sending to the answer, status, whether on a new connection, ms that it was sent too late, why it failed] */
let answers = [];
let bodies = [];

process.on('message', (order) => {
  if (order.do === 'start') start(order);
  if (order.do === 'report') {
    process.send(answers);
    answers = [];
  }
  if (order.do === 'stop') process.exit(0);
});

function start({ port, tokens, perSecond }) {
  bodies = tokens.map((refresh_token) => JSON.stringify({ refresh_token }));
  for (let i = 0; i < KEPT; i++) send(port, i % bodies.length, performance.now(), false); // opens all connections
  const began = performance.now();
  let sent = 0;
  setInterval(() => {
    for (; sent < ((performance.now() - began) * perSecond) / 1000; sent++) {
      const due = began + (sent * 1000) / perSecond;
      send(port, sent % bodies.length, due, sent % NEW_CONNECTION_EVERY === 0);
    }
  }, 1);
}

function send(port, i, due, isNew) {
  const body = bodies[i];
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Forwarded-For': `10.128.${i >> 8}.${i & 255}`, // one address per user
  };
  const sent = performance.now();
  const own = isNew ? false : agent;
  const call = request({
    port,
    host: '127.0.0.1',
    path: '/oauth2/refresh',
    method: 'POST',
    agent: own,
    headers,
  });
  const done = (status, why) =>
    answers.push([
      performance.timeOrigin + due,
      performance.now() - sent,
      status,
      !call.reusedSocket,
      sent - due,
      why,
    ]);
  call.on('response', (response) => {
    const { statusCode } = response;
    let told = ''; // of a refusal: nothing of an answer that has tokens
    response.on('data', (chunk) => (told += statusCode === 200 ? '' : chunk));
    response.on('end', () => done(statusCode, told));
  });
  call.on('error', ({ message }) => done(0, message));
  call.end(body);
}
process.once('disconnect', () => process.exit(0)); // the test has ended
