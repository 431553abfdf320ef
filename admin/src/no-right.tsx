import { useLatchkey, useSession } from '@latchkey/client/react';
import type { ReactNode } from 'react';
import type { AdminSession } from './api/types.js';
import { Logo } from './header.js';
import { Copy, Copyable } from './parts/copy.js';
import { Facts } from './parts/facts.js';
import { Heading } from './parts/heading.js';
import { Toast } from './parts/toast.js';

/** The refusal: which role is needed, and how the first administrator gets it (docs/administration.md#turn-it-on). */
export function NoRight({ session, retry }: { session: AdminSession; retry: () => void }): ReactNode {
  const { user_id, username, provider, admin_role, support_role } = session;
  const command = commandFor(session);
  return (
    <main className="gate">
      <section className="card wide">
        <Logo />
        <Heading title="You need a role for this page" />
        <p className="lead">
          This page needs the role <code>{admin_role}</code>, or <code>{support_role}</code> to read and to
          sign users out. Ask an administrator for it, with your user id.
        </p>
        <Facts
          rows={[
            ['Signed in as', username && <bdi>{username}</bdi>],
            ['User id', <Copyable key="" value={user_id} what="your user id" />],
            ['Provider', <bdi key="">{provider}</bdi>],
          ]}
        />
        <Distrusted session={session} />
        <details>
          <summary>Make yourself the first administrator</summary>
          <h2>With a service key</h2>
          <p>
            Run this command where <code>USERS_KEY</code> is a key of <code>SERVICE_KEYS</code> with the right{' '}
            <code>users</code>. It replaces all claims that the application has set for you.
          </p>
          <pre>{command}</pre>
          <p>
            <Copy value={command} what="the command" />
          </p>
          <h2>By roles of the provider</h2>
          <p>Set these, restart the service, and sign in again:</p>
          <ul>
            <li>
              <code>{variableOf(provider)}</code>: the claim that has your roles, as{' '}
              <code>roles=&lt;path&gt;</code>
            </li>
            <li>
              <code>ADMIN_PROVIDERS</code>: with <code>{provider}</code> in it
            </li>
            <li>
              <code>ADMIN_ROLE</code>: the role’s name there, unless it is <code>{admin_role}</code>
            </li>
          </ul>
        </details>
        <div className="actions">
          <button type="button" className="button primary" onClick={retry}>
            Check again
          </button>
          <SignOut />
        </div>
      </section>
      <Toast />
    </main>
  );
}

/** Says so if the person has the role, from a provider whose roles grant nothing. */
function Distrusted({
  session: { provider, admin_role, support_role },
}: {
  session: AdminSession;
}): ReactNode {
  const roles = useSession()?.claims.roles;
  const role = Array.isArray(roles) && [admin_role, support_role].find((one) => roles.includes(one));
  if (!role) return null;
  return (
    <p className="notice">
      You have the role <code>{role}</code>, but <code>ADMIN_PROVIDERS</code> does not name{' '}
      <bdi>{provider}</bdi>.
    </p>
  );
}

export function SignOut(): ReactNode {
  const latchkey = useLatchkey();
  return (
    <button type="button" className="button" onClick={() => void latchkey.signOut().catch(() => undefined)}>
      Sign in as somebody else
    </button>
  );
}

/** The call that gives the role, for a shell; the key stays in the shell's environment. */
function commandFor({ user_id, admin_role }: AdminSession): string {
  const body = JSON.stringify({ claims: { roles: [admin_role] } }).replaceAll("'", String.raw`'\''`);
  return [
    `curl -X PUT '${location.origin}/users/${user_id}/claims'`,
    `  -H "Authorization: Bearer $USERS_KEY" -H 'Content-Type: application/json'`,
    `  -d '${body}'`,
  ].join(' \\\n');
}

/** The setting of a provider's claims, as docs/settings.md spells it. */
function variableOf(provider: string): string {
  return /^[a-z0-9]+$/.test(provider)
    ? `PROVIDERS_${provider.toUpperCase()}_CLAIMS`
    : `providers.${provider}.claims`;
}
