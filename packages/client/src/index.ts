export type {
  Channel,
  ChannelEvents,
  DeviceEvent,
  EventHandler,
  EventMeta,
  EventName,
  Ready,
  ServiceEvents,
} from './channel-events.js';
export { createClient } from './client.js';
export type { Device, SignOutOptions, SignOutScope, User } from './device-list.js';
export type { ConnectOptions, Latchkey } from './latchkey.js';
export { LatchkeyError, type ErrorCode } from './latchkey-error.js';
export type { ClientOptions, SignInMode, StorageChoice } from './options.js';
export type { Profile } from './profile.js';
export type { ClientEvents, EndReason, ServiceCall, Session, SignedOut, SignInStep } from './session.js';
export type { Socket, SocketIo } from './socket-io.js';
export type { Texts } from './texts.js';
