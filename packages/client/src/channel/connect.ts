import { advise, IS_DEVELOPMENT } from '../advice.js';
import { LatchkeyError } from '../latchkey-error.js';
import type { ConnectOptions } from '../latchkey.js';
import type { Channel, SocketIo } from './channel-events.js';
import type { openChannel } from './channel.js';

type Opened = ReturnType<typeof openChannel>;

/** The client's channel, at most one at a time. */
export interface Connection {
  readonly connect: (position: ConnectOptions) => Promise<Channel>;
  readonly close: () => void;
  /** Undefined without a channel. */
  readonly isConnected: () => boolean | undefined;
}

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
      channel.on('disconnect', ({ final }) => final && forget());
      return made;
    };
    const mine = make();
    mine.catch(forget); // the next call loads again
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
  if (IS_DEVELOPMENT) advise(`connect() failed: ${MISSING}, e.g. () => import('socket.io-client').`);
  throw new LatchkeyError('missing_peer', MISSING);
}

const MISSING = 'No Socket.IO client: set loadSocketIo';

/** Loads this package's sockets, which need a WebSocket (Node.js ≥ 22). */
export async function ownSockets(): Promise<SocketIo> {
  if (!globalThis.WebSocket) throw new LatchkeyError('missing_peer', MISSING);
  return import('./sockets.js').catch(() => {
    throw new LatchkeyError('network');
  });
}
