import type { Connection } from './connection.js';

/** What a connection does over and over: returns a function that begins it once; `done` is called at each end. */
export type Script = (connection: Connection, done: () => void) => () => void;

export function getRequest(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
}

/** @param headers further ones, each with its line end */
export function postRequest(path: string, json: object, headers = ''): Buffer {
  const body = JSON.stringify(json);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
