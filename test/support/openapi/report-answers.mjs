import http from 'node:http';
import { watchAnswer } from './watch-answers.mjs';

/** Preloaded into the compiled service (service-process.ts): sends its answers to the test, and ends the service with it. */

process.once('disconnect', () => process.exit(1));

/** Number of answers of a kind that are sent: more would only slow down a load test. */
const MOST = 50;
const reported = new Map();

// oxlint-disable-next-line typescript/unbound-method -- called with the server below
const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (event, ...args) {
  if (event === 'request' && !isOfMetricsPort(args[0])) watchAnswer(args[0], args[1], report);
  return emit.call(this, event, ...args);
};

/** What listens there is not the interface: the port knows one path (docs/metrics.md). */
function isOfMetricsPort({ socket }) {
  return String(socket.localPort) === process.env['METRICS_PORT'];
}

function report(answer) {
  const kind = `${answer.method} ${answer.status} ${answer.url.split(/[/?]/).slice(0, 3).join('/')}`;
  const count = (reported.get(kind) ?? 0) + 1;
  reported.set(kind, count);
  if (count <= MOST && process.connected) process.send(answer, undefined, undefined, () => undefined);
}
