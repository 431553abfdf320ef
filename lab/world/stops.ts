import type { Connection, Direction } from '../../test/support/tcp-proxy.js';
import type { Instance } from './instance.js';

const ENDED = Buffer.from('Z\0\0\0\x05I', 'latin1');

export interface Stop {
  /** Resolves once it stands there. */
  readonly reached: Promise<unknown>;
  /** Once the service is dead: what becomes of bytes that were on their way. */
  settle(): void;
}

function when(
  { watches }: Direction,
  holds: (chunk: Buffer, connection: Connection) => boolean,
  then: (connection: Connection, chunk: Buffer) => void = () => undefined,
): Promise<Connection> {
  return new Promise((resolve) => {
    const watch = (chunk: Buffer, connection: Connection): void => {
      if (!holds(chunk, connection)) return;
      watches.delete(watch);
      then(connection, chunk);
      resolve(connection);
    };
    watches.add(watch);
  });
}

const includes =
  (mark: string | Buffer) =>
  (chunk: Buffer): boolean =>
    chunk.includes(mark);

/** Of a request of a client that contains a text, half of the bytes arrive. */
export function halfOfRequest({ clients }: Instance, mark: string): Stop {
  const held = when(clients.toServer, includes(mark), ({ toServer }, chunk) =>
    toServer.hold(Math.floor(chunk.length / 2)),
  );
  return lost(held);
}

/** A statement that contains a text or bytes is held before PostgreSQL. @param isLate it arrives after the service's end, else never */
export function statement({ database }: Instance, mark: string | Buffer, isLate: boolean): Stop {
  const held = when(database.toServer, includes(mark), ({ toServer }) => toServer.hold());
  return isLate ? late(held) : lost(held);
}

/** PostgreSQL has done a statement that contains a text or bytes, and its answer is held. */
export function answerOfStatement({ database }: Instance, mark: string | Buffer): Stop {
  const sent = when(database.toServer, includes(mark));
  return lost(sent.then((connection) => heldAnswer(database.toClient, connection)));
}

/** The service has answered a request that contains a text; of the answer's bytes the client gets none, or so large a part. */
export function answer({ clients }: Instance, mark: string, part = 0): Stop {
  const asked = when(clients.toServer, includes(mark));
  const held = asked.then((connection) =>
    when(
      clients.toClient,
      (_, other) => other === connection,
      ({ toClient }, chunk) => toClient.hold(Math.floor(chunk.length * part)),
    ),
  );
  return lost(held);
}

function heldAnswer(direction: Direction, connection: Connection): Promise<Connection> {
  return when(
    direction,
    (chunk, other) => other === connection && chunk.includes(ENDED),
    ({ toClient }) => toClient.hold(),
  );
}

function lost(reached: Promise<Connection>): Stop {
  return { reached, settle: () => void reached.then((connection) => connection.cut()) };
}

function late(reached: Promise<Connection>): Stop {
  return { reached, settle: () => void reached.then(({ toServer }) => toServer.release()) };
}
