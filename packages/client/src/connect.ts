import { advise, IS_DEVELOPMENT } from './advice.js';
import type { Channel } from './channel-events.js';
import type { openChannel } from './channel.js';
import { LatchkeyError } from './latchkey-error.js';
import type { ConnectOptions } from './latchkey.js';
import type { SocketIo } from './socket-io.js';

type Opened = ReturnType<typeof openChannel>;

/** The channel of a client: there is one at a time. */
export interface Connection {
  readonly connect: (position: ConnectOptions) => Promise<Channel>;
  readonly close: () => void;
  /** Undefined while there is no channel. */
  readonly isConnected: () => boolean | undefined;
}

/** @param open makes a channel of the Socket.IO that was loaded */
export function makeConnection(
  load: () => Promise<SocketIo>,
  open: (io: SocketIo, position: ConnectOptions) => Opened,
): Connection {
  let opening: Promise<Opened> | undefined;
  let channel: Channel | undefined;

  const begin = (position: ConnectOptions): Promise<Opened> => {
    const forget = (): void => {
      if (opening === mine) opening = channel = undefined;
    };
    const make = async (): Promise<Opened> => {
      const made = open(await loaded(load), position);
      ({ channel } = made);
      channel.on('disconnect', ({ final }) => final && forget()); // after `close()`, the next call opens another
      return made;
    };
    const mine = make();
    mine.catch(forget); // loading may work the next time
    return mine;
  };

  return {
    async connect(position) {
      const { channel: made, opened } = await (opening ??= begin(position));
      await opened;
      return made;
    },
    close() {
      opening?.then((made) => made.channel.close()).catch(() => undefined);
      opening = channel = undefined;
    },
    isConnected: () => channel?.connected,
  };
}

async function loaded(load: () => Promise<SocketIo>): Promise<SocketIo> {
  const module = await load().catch((error: unknown) => {
    if (error instanceof LatchkeyError) throw error;
  });
  if (typeof module?.io === 'function') return module;
  if (IS_DEVELOPMENT) advise(`connect(): ${HELP}`);
  throw new LatchkeyError('missing_peer', HELP);
}

const HELP = 'loadSocketIo brings no Socket.IO';

/** Our own sockets need a WebSocket, which Node.js has since version 22. */
export async function ownSockets(): Promise<SocketIo> {
  if (!globalThis.WebSocket) throw new LatchkeyError('missing_peer', HELP);
  return import('./sockets.js').catch(() => {
    throw new LatchkeyError('network');
  });
}
