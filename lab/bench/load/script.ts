import type { Connection } from './connection.js';

/**
 * What a connection does over and over: returns a function that begins it once; `done` is called at each end.
 * `admin` is a connection to the administrator's port, if the load has one.
 */
export type Script = (connection: Connection, done: () => void, admin?: Connection) => () => void;

/**
 * One request after the other, all written out beforehand, and from the first again; whatever the connection.
 * @param mark what each answer must have in it
 */
export function inTurn(requests: readonly Buffer[], mark: string): Script {
  let next = 0;
  return (connection, done) => () => {
    const request = requests[next]!;
    next = (next + 1) % requests.length;
    connection.send(request, (body) => {
      if (!body.includes(mark)) throw new Error(`an answer without ${mark}`);
      done();
    });
  };
}

/** @param headers further ones, each with its line end */
export function getRequest(path: string, headers = ''): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
}

/**
 * Refreshes at a service that rotates refresh tokens: each answer has the token of the session's next request.
 * @param form of the refresh, without the token
 */
export function rotating(path: string, form: Readonly<Record<string, string>>, tokens: string[]): Script {
  return (connection, done) => () => {
    const request = postForm(path, { ...form, refresh_token: tokens.shift()! });
    connection.send(request, (body) => {
      tokens.push((JSON.parse(String(body)) as { refresh_token: string }).refresh_token);
      done();
    });
  };
}

/** @param headers further ones, each with its line end */
export function postRequest(path: string, json: object, headers = ''): Buffer {
  return send('POST', path, JSON.stringify(json), `Content-Type: application/json\r\n${headers}`);
}

export function putRequest(path: string, json: object): Buffer {
  return send('PUT', path, JSON.stringify(json), 'Content-Type: application/json\r\n');
}

/** @param headers further ones, each with its line end */
export function postForm(path: string, fields: Readonly<Record<string, string>>, headers = ''): Buffer {
  const form = new URLSearchParams(fields).toString();
  return send('POST', path, form, `Content-Type: application/x-www-form-urlencoded\r\n${headers}`);
}

function send(method: string, path: string, body: string, headers: string): Buffer {
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
