'use client';
// With a star: an interface that is exported by its name could not be added to.
export type * from './register.js';
export { LatchkeyProvider, useLatchkey, type LatchkeyProviderProps } from './provider.js';
export { SignInButton, type SignInButtonProps } from './sign-in-button.js';
export { SignedIn, SignedOut } from './signed-in.js';
export { useChannel } from './use-channel.js';
export { useSession } from './use-session.js';
