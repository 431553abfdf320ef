import { useEffect, useRef, useState, type ReactNode } from 'react';
import { latchkey } from './client.js';
import { Logo } from './header.js';
import { Heading } from './parts/heading.js';

/** Milliseconds after which the card is shown without its buttons: the list of providers does not come. */
const TIMEOUT_MS = 3000;

/** The sign-in: one card, which is shown once its buttons are in it. `ProviderButtons` does not say when they are. */
export function SignIn(): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const [isComplete, setComplete] = useState(false);
  useEffect(() => {
    const show = (): void => setComplete(true);
    const timer = setTimeout(show, TIMEOUT_MS);
    latchkey.showProviders(place.current!).then(show, show);
    return () => clearTimeout(timer);
  }, []);
  return (
    <main className={isComplete ? 'gate' : 'gate pending'}>
      <section className="card">
        <Logo />
        <Heading title="Sign in" />
        <p className="lead">Users, sessions and the audit trail of this service.</p>
        <div ref={place} className="providers" />
      </section>
    </main>
  );
}
