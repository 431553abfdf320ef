import { useSession } from '@latchkey/client/react';
import type { ReactNode } from 'react';
import useSWR, { SWRConfig } from 'swr';
import { Route, Router, Switch } from 'wouter';
import { call, type ApiError } from './api/api.js';
import { SessionContext } from './api/session.js';
import type { AdminSession } from './api/types.js';
import { Audit } from './audit/audit.js';
import { Failure, Loading } from './parts/states.js';
import { Toast } from './parts/toast.js';
import { Overview } from './overview/overview.js';
import { Providers } from './providers/providers.js';
import { Header, Logo } from './header.js';
import { NoRight, SignOut } from './no-right.js';
import { SignIn } from './sign-in.js';
import { User } from './users/user.js';
import { Users } from './users/users.js';

/** The page: a sign-in, then the views for a person with a role. */
export function App(): ReactNode {
  const session = useSession();
  if (!session) return <SignIn />;
  const settings = {
    provider: () => new Map(), // what one person saw is not shown to the next
    fetcher: (path: string) => call(path),
    shouldRetryOnError: (error: ApiError) => error.isTransient,
    revalidateOnFocus: false,
  };
  return (
    <SWRConfig key={session.userId} value={settings}>
      <Router base="/admin" hrefs={served} aroundNav={(go, to, options) => go(served(to), options)}>
        <Authorized />
      </Router>
    </SWRConfig>
  );
}

/** The overview is at `/admin` only, and the router would add a slash: a reload would find nothing. */
const served = (path: string): string => path.replace(/^\/admin\/(?=$|[?#])/, '/admin');

/** Shows the views if the service grants a right. */
function Authorized(): ReactNode {
  const { data, error, mutate } = useSWR<AdminSession, ApiError>('/admin/session', {
    refreshInterval: 60_000,
  });
  if (!data)
    return (
      <main className="gate">
        <section className="card">
          <Logo />
          {error ? <Failure error={error} retry={() => void mutate()} /> : <Loading what="your rights" />}
          {error && <SignOut />}
        </section>
      </main>
    );
  if (!data.right) return <NoRight session={data} retry={() => void mutate()} />;
  return (
    <SessionContext value={data}>
      <SWRConfig
        value={{ onError: ({ code }: ApiError) => void (code === 'insufficient_scope' && mutate()) }}
      >
        <Header session={data} />
        <main className="page">
          <Switch>
            <Route path="/" component={Overview} />
            <Route path="/users" component={Users} />
            <Route path="/users/:user_id">{({ user_id }) => <User key={user_id} userId={user_id} />}</Route>
            <Route path="/audit" component={Audit} />
            <Route path="/identity-providers" component={Providers} />
          </Switch>
        </main>
      </SWRConfig>
      <Toast />
    </SessionContext>
  );
}
