import { UserButton } from '@latchkey/client/react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { AdminSession } from './api/types.js';

const VIEWS = [
  ['/', 'Overview'],
  ['/users', 'Users'],
  ['/audit', 'Audit'],
  ['/identity-providers', 'Providers'],
] as const;

export function Logo(): ReactNode {
  return (
    <p className="logo">
      <svg viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">
        <rect className="logo-tile" width="32" height="32" rx="8" />
        <g className="logo-key">
          <circle cx="12" cy="12.5" r="4.5" />
          <path d="m15.3 15.7 8.2 8.1m-3.4-3.4 2.5-2.5" />
        </g>
      </svg>
      <span>Latchkey</span> <span className="tag">Administration</span>
    </p>
  );
}

/** The views, and the person. */
export function Header({ session: { right } }: { session: AdminSession }): ReactNode {
  const [location] = useLocation();
  const isAt = (path: string): boolean =>
    location === path || (path !== '/' && location.startsWith(`${path}/`));
  return (
    <header className="header">
      <Logo />
      <nav aria-label="Views">
        {VIEWS.map(([path, title]) => (
          <Link
            key={path}
            href={path}
            className={isAt(path) ? 'active' : ''}
            aria-current={location === path ? 'page' : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      {right === 'support' && <span className="tag">Support</span>}
      <UserButton className="me" />
    </header>
  );
}
