import type { Connection } from './connection.js';

/** What a connection does over and over: returns a function that begins it once; `done` is called at each end. */
export type Script = (connection: Connection, done: () => void) => () => void;

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

/** @param headers further ones, each with its line end */
export function postRequest(path: string, json: object, headers = ''): Buffer {
  return post(path, JSON.stringify(json), `Content-Type: application/json\r\n${headers}`);
}

/** @param headers further ones, each with its line end */
export function postForm(path: string, fields: Readonly<Record<string, string>>, headers = ''): Buffer {
  const form = new URLSearchParams(fields).toString();
  return post(path, form, `Content-Type: application/x-www-form-urlencoded\r\n${headers}`);
}

function post(path: string, body: string, headers: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
