import { io } from 'socket.io-client';

/**
 * Listens to the signed-in user's own channel.
 *
 * @param url where Latchkey is
 * @param getToken resolves with an access token that is good for a while: refreshes it first where need be
 * @param onEvent called with (event, data) for everything that is pushed
 * @param onSignedOut called when the user has to sign in again
 */
export function listen(url, getToken, onEvent, onSignedOut) {
  let offset; // of the last event; keep it across reloads (localStorage) to miss nothing then either
  const socket = io(url, {
    transports: ['websocket'],
    auth: (answer) => getToken().then((token) => answer({ token, offset }), onSignedOut),
  });
  socket.on('ready', (ready) => (offset = ready.offset)); // `recovered: false`: something missed is gone, load afresh
  socket.onAny((event, data, meta) => {
    if (!meta) return; // what the service itself says
    offset = meta.offset ?? offset;
    onEvent(event, data);
  });
  socket.on('token.expiring', async () => socket.emit('authenticate', { token: await getToken() }));
  socket.on('session.ended', ({ reason }) => {
    if (reason === 'expired' || reason === 'signed_out') onSignedOut(); // else the client comes back by itself
  });
  socket.on('connect_error', ({ data }) => {
    if (data?.error === 'invalid_token') onSignedOut();
    else if (data) setTimeout(() => socket.connect(), 5000); // slow_down, server_error: refused for now
  });
  return socket;
}
