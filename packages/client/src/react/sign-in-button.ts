import {
  createElement,
  forwardRef,
  useState,
  type ButtonHTMLAttributes,
  type MouseEvent,
  type ReactElement,
} from 'react';
import type { LatchkeyError } from '../latchkey-error.js';
import type { SignInOptions } from '../options.js';
import { useLatchkey } from './provider.js';

/** The properties of `<SignInButton>`: the properties of a `<button>`, the options of `signIn()`, and `onError`. */
export interface SignInButtonProps
  extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'onError'>, SignInOptions {
  /** Gets the error of a failed sign-in, which the dialog has shown. Not called if the user closes the dialog. */
  onError?: ((error: LatchkeyError) => void) | undefined;
}

/**
 * A button that signs the user in by the dialog. During a sign-in it is `aria-disabled` and ignores clicks; it is not `disabled`,
 * since the dialog restores the focus to it. `onClick` is called first; `preventDefault()` stops the sign-in.
 *
 * @example
 * <SignInButton className="primary">Sign in to see your orders</SignInButton>
 * <SignInButton provider="corp">Sign in with your company's account</SignInButton>
 */
export const SignInButton = forwardRef<HTMLButtonElement, SignInButtonProps>(function SignInButton(
  {
    provider,
    mode,
    email,
    loginHint,
    prompt,
    maxAge,
    acrValues,
    params,
    onError,
    onClick,
    children = 'Sign in',
    ...props
  },
  ref,
): ReactElement {
  const client = useLatchkey();
  const [isSigningIn, setSigningIn] = useState(false);

  const signIn = async (): Promise<void> => {
    setSigningIn(true);
    try {
      await client.signIn({ provider, mode, email, loginHint, prompt, maxAge, acrValues, params });
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
