import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';

const FORM = 'application/x-www-form-urlencoded';

/** Answers one call; its parameters are the query of a GET, or the body of a POST: JSON or a form. */
export type Handler = (params: Params, headers: IncomingHttpHeaders) => object | Promise<object>;
export type Params = Readonly<Record<string, string>>;

/** A server with only what the calls need; `routes` by method and path. An error is a 500. */
export function createFloorServer(routes: ReadonlyMap<string, Handler>): Server {
  return createServer((request, response) => {
    const [path = '', query = ''] = request.url!.split('?');
    const handler = routes.get(`${request.method} ${path}`);
    if (!handler) response.writeHead(404).end();
    else if (request.method === 'GET') void answer(request, response, handler, parseQuery, query);
    else readBody(request, (body) => void answer(request, response, handler, parserOf(request), body));
  });
}

function readBody(request: IncomingMessage, done: (body: string) => void): void {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => done(body));
}

async function answer(
  { headers }: IncomingMessage,
  response: ServerResponse,
  handler: Handler,
  parse: (text: string) => Params,
  text: string,
): Promise<void> {
  try {
    const body = JSON.stringify(await handler(parse(text), headers));
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

function parserOf({ headers }: IncomingMessage): (body: string) => Params {
  return headers['content-type']?.startsWith(FORM) ? parseQuery : parseJson;
}

function parseQuery(query: string): Params {
  return Object.fromEntries(new URLSearchParams(query));
}

function parseJson(body: string): Params {
  const params: Params = JSON.parse(body);
  return params;
}
