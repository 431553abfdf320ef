import { io } from 'socket.io-client';

/**
 * Listens to the signed-in user's own channel.
 *
 * @param url where Latchkey is
 * @param getToken resolves with an access token that is good for a while: refreshes it first where need be, and in any case
 *   when it is called with true: the one before is worth nothing any more
 * @param onEvent called with (event, data) for everything that is pushed
 * @param onSignedOut called when the user has to sign in again
 */
export function listen(url, getToken, onEvent, onSignedOut) {
  let last = {}; // offset and id of the last event; keep them across reloads (localStorage) to miss nothing then either
  let revoked = false;
  const socket = io(url, {
    transports: ['websocket'],
    auth: (answer) => getToken(revoked).then((token) => answer({ token, ...last }), onSignedOut),
  });
  socket.on('ready', ({ offset, id }) => {
    last = { offset, id }; // `recovered: false`: something missed is gone, load afresh
    revoked = false;
  });
  socket.onAny((event, data, meta) => {
    if (!meta) return; // what the service itself says
    if (meta.offset !== null) last = { offset: meta.offset, id: meta.id };
    onEvent(event, data);
  });
  socket.on('token.expiring', async () => socket.emit('authenticate', { token: await getToken() }));
  socket.on('session.ended', ({ reason }) => {
    if (reason === 'expired' || reason === 'signed_out') onSignedOut(); // else the client comes back by itself
    revoked = reason === 'revoked'; // the key that signed the token was withdrawn
  });
  socket.on('connect_error', ({ data }) => {
    if (data?.error === 'invalid_token') onSignedOut();
    else if (data) setTimeout(() => socket.connect(), 5000); // slow_down, server_error: refused for now
  });
  return socket;
}
