import http from 'node:http';
import { watchAnswer } from './watch-answers.mjs';

/** Loaded into a service that is a process of its own (service-process.ts): tells the tests what it answers. */

/** Answers of a kind that are told: under load all others cost time only. */
const MOST = 50;
const told = new Map();

// oxlint-disable-next-line typescript/unbound-method -- called with the server below
const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (event, ...args) {
  if (event === 'request' && !isOfMetricsPort(args[0])) watchAnswer(args[0], args[1], tell);
  return emit.call(this, event, ...args);
};

/** What listens there is not the interface: the port knows one path (docs/metrics.md). */
function isOfMetricsPort({ socket }) {
  return String(socket.localPort) === process.env['METRICS_PORT'];
}

function tell(answer) {
  const kind = `${answer.method} ${answer.status} ${answer.url.split(/[/?]/).slice(0, 3).join('/')}`;
  const count = (told.get(kind) ?? 0) + 1;
  told.set(kind, count);
  if (count <= MOST && process.connected) process.send(answer, undefined, undefined, () => undefined);
}
