// Contract §7. Some of these names make Socket.IO itself throw, and the service uses the others.
const RESERVED =
  /device\..*|session\..*|token\..*|ready|authenticate|connect|connect_error|disconnect|error|disconnecting|newListener|removeListener/;

/** The name of an event that may be pushed. */
export const EVENT_NAME = new RegExp(`^(?!(?:${RESERVED.source})$)[A-Za-z0-9_.:-]{1,128}$`);

/** The name of an event that the service itself appends to a channel. */
export const OWN_EVENT_NAME = /^device\.[a-z_]{1,64}$/;
