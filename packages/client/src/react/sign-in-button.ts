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

/** The properties of `<SignInButton>`: the properties of a `<button>`, and two more. */
export interface SignInButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onError'> {
  /** How the provider's page is shown. Default: the service's setting. */
  mode?: SignInMode | undefined;
  /** Gets the error of a failed sign-in, which the dialog has shown. Not called if the user closes the dialog. */
  onError?: ((error: LatchkeyError) => void) | undefined;
}

/**
 * A button that signs the user in by the dialog. During a sign-in it is `aria-disabled` and ignores clicks; it is not `disabled`,
 * since the dialog restores the focus to it. `onClick` is called first; `preventDefault()` stops the sign-in.
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
