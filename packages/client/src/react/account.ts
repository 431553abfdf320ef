import { useEffect, useState, type ReactElement } from 'react';
import type { User } from '../latchkey.js';
import type { DeviceRequestsOptions, DevicesOptions, IdentitiesOptions, UserOptions } from '../options.js';
import { useLatchkey } from './provider.js';
import { useSession } from './session.js';
import { useShown } from './shown.js';
import { useChannel } from './use-channel.js';

/** Milliseconds until the next attempt to load the user. */
const RETRY_DELAY = 5000;

/** The properties of `<Devices>`: `onError`, and the class of the element around the list. */
export interface DevicesProps extends DevicesOptions {
  className?: string | undefined;
}

/** The properties of `<UserButton>`: the options of a sign-out at the provider, `onError`, and the class of the element around it. */
export interface UserButtonProps extends UserOptions {
  className?: string | undefined;
}

/**
 * The user's devices: rename, sign out one or all others, with live updates, in the client's language. It needs no CSS; the CSS custom
 * properties of the dialog style it. Empty while no user is signed in.
 *
 * @example
 * <h2>Your devices</h2>
 * <Devices />
 */
export function Devices({ className, onError }: DevicesProps): ReactElement {
  // The list uses the channel; a listener keeps it open as long as the list is shown.
  useChannel('device.signed_in', nothing);
  return useShown('showDevices', className, { onError });
}

/** The properties of `<DeviceRequests>`: `onError`, and the class of the element around it. */
export interface DeviceRequestsProps extends DeviceRequestsOptions {
  className?: string | undefined;
}

/**
 * Devices without a browser that ask to be signed in as the user: "yes", "no", and a field for the code of any other one. Empty while no
 * user is signed in.
 *
 * @example
 * <h2>New devices</h2>
 * <DeviceRequests />
 */
export function DeviceRequests({ className, onError }: DeviceRequestsProps): ReactElement {
  useChannel('device.requested', nothing); // a listener keeps the channel open
  return useShown('showDeviceRequests', className, { onError });
}

/** The properties of `<Identities>`: `onError`, and the class of the element around it. */
export interface IdentitiesProps extends IdentitiesOptions {
  className?: string | undefined;
}

/**
 * The accounts by which the user may sign in, with buttons to connect those of other providers, and to disconnect. Empty while no user is
 * signed in.
 *
 * @example
 * <h2>Your accounts</h2>
 * <Identities />
 */
export function Identities({ className, onError }: IdentitiesProps): ReactElement {
  useChannel('identities.changed', nothing); // a listener keeps the channel open
  return useShown('showIdentities', className, { onError });
}

/**
 * A button with the user's picture or initials. Its menu has the user's devices and the sign-outs. Empty while no user is signed in.
 *
 * @example
 * <header>
 *   <UserButton />
 *   <SignedOut><SignInButton /></SignedOut>
 * </header>
 */
export function UserButton({ className, provider, redirectUri, onError }: UserButtonProps): ReactElement {
  return useShown('showUser', className, { provider, redirectUri, onError });
}

/**
 * Returns the user as the service knows them, e.g. since when; `useSession()` has name, address and picture without a request. Loaded
 * again if the claims change.
 * @returns `null` if no user is signed in; `undefined` until the service has answered, and on a server
 *
 * @example
 * const user = useUser();
 * return user && <p>Member since {new Date(user.created_at).getFullYear()}</p>;
 */
export function useUser(): User | null | undefined {
  const client = useLatchkey();
  const session = useSession();
  const [user, setUser] = useState<User>();
  const { userId, claims } = session ?? {};
  useEffect(() => {
    if (!userId) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const load = (): void => {
      client.me().then(
        (loaded) => isLeft || setUser(loaded),
        () => {
          if (!isLeft) timer = setTimeout(load, RETRY_DELAY);
        },
      );
    };
    load();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [client, userId, claims]);
  return session && (user?.user_id === userId ? user : undefined);
}

const nothing = (): void => undefined;
