import { advise, IS_DEVELOPMENT } from '../advice.js';
import { LatchkeyError, orNetworkError } from '../latchkey-error.js';
import type { ConnectOptions } from '../latchkey.js';
import { signedOut } from '../tokens/refresher.js';
import type { Channel, SocketIo } from './channel-events.js';

type OpenChannel = typeof import('./channel.js').openChannel;

/** The client's channel, at most one at a time. Its code and that of the sockets are loaded side by side. */
export function makeConnection(
  load: () => Promise<SocketIo>,
  open: (openChannel: OpenChannel, io: SocketIo, position: ConnectOptions) => Channel,
) {
  /** Resolved at the first `ready`, rejected if the channel ends before. */
  let opening: Promise<Channel> | undefined;
  let channel: Channel | undefined;

  const begin = (position: ConnectOptions): Promise<Channel> => {
    const forget = (): void => {
      if (opening === mine) opening = channel = undefined;
    };
    const make = async (): Promise<Channel> => {
      const [{ openChannel }, sockets] = await Promise.all([
        orNetworkError(import('./channel.js')),
        loaded(load),
      ]);
      if (opening !== mine) throw signedOut(); // closed while the code was loading
      const made = (channel = open(openChannel, sockets, position));
      await new Promise<void>((resolve, reject) => {
        made.on('ready', () => resolve());
        made.on('disconnect', ({ final }) => {
          if (!final) return;
          forget();
          reject(signedOut());
        });
      });
      return made;
    };
    const mine = make();
    mine.catch(forget); // the next call loads again
    return mine;
  };

  return {
    connect: (position: ConnectOptions): Promise<Channel> => (opening ??= begin(position)),
    close(): void {
      channel?.close();
      opening = channel = undefined;
    },
    /** Undefined without a channel. */
    isConnected: () => channel?.connected,
  };
}

async function loaded(load: () => Promise<SocketIo>): Promise<SocketIo> {
  const module = await load().catch((error: unknown) => {
    if (error instanceof LatchkeyError) throw error;
  });
  if (typeof module?.io === 'function') return module;
  if (IS_DEVELOPMENT)
    advise('connect() failed without a Socket.IO client: set loadSocketIo to a function that loads one.');
  throw new LatchkeyError('missing_peer');
}

/** Loads this package's sockets, which need a WebSocket (Node.js ≥ 22). */
export async function ownSockets(): Promise<SocketIo> {
  if (!globalThis.WebSocket) throw new LatchkeyError('missing_peer');
  return orNetworkError(import('./sockets.js'));
}
