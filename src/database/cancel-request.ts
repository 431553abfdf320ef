import pg from 'pg';

/** What pg's clients and connections have beside their published types. */
type Cancellable = pg.Client & {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly sslNegotiation: 'postgres' | 'direct';
};
type Wire = pg.Connection & {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
};

/**
 * Asks the server to end the statement that a client waits for: PostgreSQL's CancelRequest, on a connection of its own, which
 * goes where the client's goes and is secured as that one is. Poolers hand it on, unlike `pg_cancel_backend`.
 *
 * @returns a promise that resolves when the server has taken it, could not be reached, or after `longestMs`; it never rejects
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
export function cancelRequest(client: pg.Client, longestMs: number): Promise<void> {
  const { processID, secretKey, ssl, sslNegotiation, host, port } = client as Cancellable;
  if (processID === null || secretKey === null) return Promise.resolve(); // a pooler that gives no key
  const options: object = { ssl, sslNegotiation }; // its published type spells it otherwise
  const connection = new pg.Connection(options) as Wire;
  return new Promise((resolve) => {
    const close = (): void => void connection.stream.destroy();
    const timer = setTimeout(close, longestMs);
    connection.on('error', close);
    connection.once('end', () => {
      clearTimeout(timer);
      resolve();
    });
    const send = (): void => connection.cancel(processID, secretKey); // the server answers by closing
    connection.once('sslconnect', send);
    connection.once('connect', () => {
      if (!ssl) send();
      else if (sslNegotiation !== 'direct') connection.requestSsl();
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
