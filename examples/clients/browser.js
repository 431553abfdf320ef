import { io } from 'socket.io-client';

/**
 * Listens to the signed-in user's own channel.
 *
 * @param url where Latchkey is
 * @param getToken resolves with an access token that is valid for a while, refreshed first if necessary. When it is called
 *   with true, it must always refresh: the token before is refused now
 * @param onEvent called with (event, data) for everything that is pushed
 * @param onSignedOut called when the user has to sign in again
 */
export function listen(url, getToken, onEvent, onSignedOut) {
  let last = {}; // offset and id of the last event; keep them across reloads (localStorage) to miss nothing
  let revoked = false;
  const socket = io(url, {
    transports: ['websocket'],
    auth: (answer) => getToken(revoked).then((token) => answer({ token, ...last }), onSignedOut),
  });
  socket.on('ready', ({ offset, id }) => {
    last = { offset, id }; // with `recovered: false`, missed events are gone: load your data anew
    revoked = false;
  });
  socket.onAny((event, data, meta) => {
    if (!meta) return; // a message of the service itself
    if (meta.offset !== null) last = { offset: meta.offset, id: meta.id };
    onEvent(event, data);
  });
  socket.on('token.expiring', async () => socket.emit('authenticate', { token: await getToken() }));
  socket.on('session.ended', ({ reason }) => {
    if (reason === 'expired' || reason === 'signed_out') onSignedOut(); // otherwise the client reconnects
    revoked = reason === 'revoked'; // the key that signed the token was withdrawn
  });
  socket.on('connect_error', ({ data }) => {
    if (data?.error === 'invalid_token') onSignedOut();
    else if (data) setTimeout(() => socket.connect(), 5000); // slow_down, server_error: try again later
  });
  return socket;
}
