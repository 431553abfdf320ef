export type {
  AgentEvent,
  Channel,
  ChannelEvents,
  ClaimsEvent,
  DeviceEvent,
  DeviceRequestEvent,
  EventHandler,
  EventMeta,
  EventName,
  Ready,
  ServiceEvents,
  Socket,
  SocketIo,
} from './channel/channel-events.js';
export { createClient } from './client.js';
export type { Identities, Identity, OtherIdentity } from './identity.js';
export type {
  Agent,
  ConnectOptions,
  Device,
  DeviceRequest,
  Latchkey,
  RefusedProgram,
  SignOutOptions,
  SignOutScope,
  User,
} from './latchkey.js';
export { LatchkeyError, type ErrorCode } from './latchkey-error.js';
export type {
  ClientOptions,
  DeviceRequestsOptions,
  DevicesOptions,
  IdentitiesOptions,
  IdleNoticeOptions,
  Provider,
  ProviderButtonsOptions,
  SignInMode,
  SignInOptions,
  StepUpOptions,
  StorageChoice,
  UserOptions,
} from './options.js';
export type {
  ClientEvents,
  EndCause,
  EndReason,
  IdleNotice,
  Profile,
  ServiceCall,
  Session,
  SignedOut,
  SignInStep,
} from './session.js';
export type { UserClaims } from './tokens/claims.js';
export type { AccountTexts } from './texts/account/account-texts.js';
export type { Texts } from './texts/texts.js';
