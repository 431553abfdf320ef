import { createElement, useEffect, useRef, type ReactElement } from 'react';
import type { LatchkeyError } from '../latchkey-error.js';
import type { ProviderButtonsOptions } from '../options.js';
import { useLatchkey } from './provider.js';

/** The properties of `<ProviderButtons>`: the options of `signIn()`, `onError`, and the class of the element around the buttons. */
export interface ProviderButtonsProps extends ProviderButtonsOptions {
  className?: string | undefined;
}

/**
 * A button for each provider that the service offers, with label and logo, in the client's language. For buttons of your own:
 * `providers()` and `<SignInButton provider="…">`.
 *
 * @example
 * <SignedOut><ProviderButtons /></SignedOut>
 */
export function ProviderButtons({
  className,
  mode,
  email,
  loginHint,
  prompt,
  maxAge,
  acrValues,
  params,
  onError,
}: ProviderButtonsProps): ReactElement {
  const client = useLatchkey();
  const place = useRef<HTMLDivElement>(null);
  const newest = useRef<ProviderButtonsOptions>({}); // is read at each click
  useEffect(() => {
    Object.assign(newest.current, { mode, email, loginHint, prompt, maxAge, acrValues, params, onError });
  });
  useEffect(() => {
    let isLeft = false;
    client.showProviders(place.current!, newest.current).catch((error: LatchkeyError) => {
      if (!isLeft) newest.current.onError?.(error);
    });
    return () => {
      isLeft = true;
    };
  }, [client]);
  return createElement('div', { className, ref: place });
}
