// The client's latest requests, one line for each kind.
import { make } from './make.js';

const MOST = 6;
const list = document.getElementById('requests');
const lines = new Map();

/** @param {import('../packages/client/src/index.js').ServiceCall} call */
export function addRequest({ method, path, status, duration }) {
  const [, room] = path.split('/');
  const name = `${method} ${room === 'devices' && path !== '/devices' ? '/devices/…' : path}`;
  const count = (lines.get(name)?.count ?? 0) + 1;
  lines.get(name)?.line.remove();
  const line = make(
    'li',
    { className: 'fresh' },
    make('span', { className: 'request' }, name, count > 1 ? make('small', {}, ` × ${count}`) : ''),
    make('span', { className: status < 400 ? 'answer' : 'answer bad' }, status ? `${status}` : 'no answer'),
    make('span', { className: 'took' }, `${Math.max(1, Math.round(duration))} ms`),
  );
  lines.delete(name);
  lines.set(name, { line, count });
  list.prepend(line);
  while (list.children.length > MOST) list.lastElementChild.remove();
  document.getElementById('no-requests').hidden = true;
}
