'use client';
// `*`: an interface that is exported by name could not be extended by the application.
export type * from './register.js';
export {
  DeviceRequests,
  Devices,
  Identities,
  UserButton,
  useUser,
  type DeviceRequestsProps,
  type DevicesProps,
  type IdentitiesProps,
  type UserButtonProps,
} from './account.js';
export { IdleNotice } from './idle-notice.js';
export { LatchkeyProvider, useLatchkey, type LatchkeyProviderProps } from './provider.js';
export { ProviderButtons, type ProviderButtonsProps } from './provider-buttons.js';
export { SignInButton, type SignInButtonProps } from './sign-in-button.js';
export { SignedIn, SignedOut, useClaims, useSession, useStepUp, type SignedInProps } from './session.js';
export { useChannel } from './use-channel.js';
