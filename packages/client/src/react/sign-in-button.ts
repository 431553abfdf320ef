import {
  createElement,
  forwardRef,
  useState,
  type ButtonHTMLAttributes,
  type MouseEvent,
  type ReactElement,
} from 'react';
import type { LatchkeyError } from '../latchkey-error.js';
import type { SignInMode } from '../options.js';
import { useLatchkey } from './provider.js';

/** What `<SignInButton>` takes: everything that a `<button>` does, and two of its own. */
export interface SignInButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onError'> {
  /** How the provider's page is shown. Leave it out, and the service's settings decide. */
  mode?: SignInMode | undefined;
  /** Told why signing in has failed, which the dialog has told the user before. Not told when the user closes the dialog. */
  onError?: ((error: LatchkeyError) => void) | undefined;
}

/**
 * A button that signs the user in, by the dialog. While it does, it is `aria-disabled` and ignores clicks. It is not `disabled`,
 * because the dialog could not give the focus back to it. `onClick` is called first, and stops it with `preventDefault()`.
 *
 * @example
 * <SignInButton className="primary">Sign in to see your orders</SignInButton>
 */
export const SignInButton = forwardRef<HTMLButtonElement, SignInButtonProps>(function SignInButton(
  { mode, onError, onClick, children = 'Sign in', ...props },
  ref,
): ReactElement {
  const client = useLatchkey();
  const [isSigningIn, setSigningIn] = useState(false);

  const signIn = async (): Promise<void> => {
    setSigningIn(true);
    try {
      await client.signIn(mode && { mode });
    } catch (error) {
      if ((error as LatchkeyError).code !== 'cancelled') onError?.(error as LatchkeyError);
    } finally {
      setSigningIn(false);
    }
  };
  const click = (event: MouseEvent<HTMLButtonElement>): void => {
    if (isSigningIn) return;
    onClick?.(event);
    if (!event.defaultPrevented) void signIn();
  };
  const going = isSigningIn && { 'aria-disabled': true, 'aria-busy': true };
  return createElement('button', { type: 'button', ...props, ...going, ref, onClick: click }, children);
});
