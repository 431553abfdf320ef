// Contract §7. Some of these names make Socket.IO itself throw, and the service uses the others.
const RESERVED =
  /device\..*|session\..*|token\..*|ready|authenticate|connect|connect_error|disconnect|error|disconnecting|newListener|removeListener/;

/** The name of an event that may be pushed. */
export const EVENT_NAME = new RegExp(`^(?!(?:${RESERVED.source})$)[A-Za-z0-9_.:-]{1,128}$`);
