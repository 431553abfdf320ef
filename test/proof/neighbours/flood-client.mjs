// Requests at a steady rate, whatever the answers are, in a process of their own: on bare TCP, because a client library would take
// more of the machine than the service that is measured.
import { connect } from 'node:net';

const CONNECTIONS = 64;
/** A request that finds no connection free is not sent later: a flood does not grow while it is not answered. */
let left = 0;
let statuses = {};
let firsts = {};
let free = [];
const all = new Set();
let timer;
let isAnswered = true;
let isFlooding = false;

process.on('message', (order) => {
  if (order.do === 'start') start(order);
  if (order.do === 'end') {
    clearInterval(timer);
    isFlooding = false;
    for (const socket of all) socket.destroy();
    process.send({ statuses, firsts, left });
    [statuses, firsts, left] = [{}, {}, 0];
  }
});
process.once('disconnect', () => process.exit(0));

/** @param requests whole texts; those of `oneEach` take a connection of their own each, and give it up when they are answered */
function start({ port, perSecond, requests, oneEach }) {
  [free, isAnswered, isFlooding] = [[], false, true];
  for (let i = 0; i < CONNECTIONS; i++) open(port);
  const texts = [...requests, ...oneEach];
  const began = performance.now();
  let sent = 0;
  timer = setInterval(() => {
    for (; sent < ((performance.now() - began) * perSecond) / 1000; sent++) {
      const i = sent % texts.length;
      if (i >= requests.length) once(port, texts[i]);
      else if (free.length === 0) left++;
      else free.pop().write(texts[i]);
    }
  }, 1);
}

function open(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  all.add(socket);
  socket.on('connect', () => free.push(socket));
  socket.on('data', (data) => {
    if (count(data)) free.push(socket); // an answer is small: it comes in one piece
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    free = free.filter((one) => one !== socket);
    if (all.delete(socket) && isFlooding) setTimeout(open, 100, port);
  });
}

function once(port, request) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  socket.on('data', (data) => count(data) && socket.destroy());
  socket.write(request);
}

/** @returns whether an answer begins in it */
function count(data) {
  if (data[0] !== 72) return false; // H of HTTP/1.1
  const status = data.toString('latin1', 9, 12);
  statuses[status] = (statuses[status] ?? 0) + 1;
  firsts[status] ??= data.toString('latin1');
  if (!isAnswered) process.send({}); // it has begun
  isAnswered = true;
  return true;
}
