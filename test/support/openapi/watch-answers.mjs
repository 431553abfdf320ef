/**
 * In JavaScript, since the compiled service loads it (report-answers.mjs).
 *
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {(answer: import('./watch-answers.mjs').Answered) => void} report called when it has been answered, unless the answer
 *   was cut off
 */
export function watchAnswer(request, response, report) {
  const isForwarded = /^\/forward-auth(?=[/?]|$)/.test(request.url ?? ''); // each method and path has one answer
  const { method = '', url = '' } = isForwarded ? { method: 'GET', url: '/forward-auth' } : request;
  if (url.startsWith('/socket.io/')) return;
  const sent = [];
  const keep = (chunk) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) sent.push(Buffer.from(chunk));
  };
  const isEndless = () => response.getHeader('content-type') === 'text/event-stream';
  const writeHead = response.writeHead.bind(response);
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  let written = {}; // getHeaders() lacks them if setHeader() was never called
  response.writeHead = (...args) => {
    if (typeof args.at(-1) === 'object') written = args.at(-1);
    return writeHead(...args);
  };
  response.write = (...args) => {
    if (!isEndless()) keep(args[0]);
    return write(...args);
  };
  response.end = (...args) => {
    keep(args[0]);
    return end(...args);
  };
  response.once('close', () => {
    if (!response.headersSent || (!response.writableFinished && !isEndless())) return;
    const body = isEndless() ? undefined : Buffer.concat(sent).toString();
    const lowered = Object.entries(written).map(([name, value]) => [name.toLowerCase(), value]);
    const headers = { ...response.getHeaders(), ...Object.fromEntries(lowered) };
    report({ method, url, status: response.statusCode, headers, body });
  });
}
