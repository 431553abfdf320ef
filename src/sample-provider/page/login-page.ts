import type { DemoAccount } from '../accounts.js';
import type { AuthorizationPageDto } from '../authorization-page.dto.js';
import { html, type Html } from '../../http/page/html.js';
import { layout } from './layout.js';

export interface LoginPage {
  readonly request: AuthorizationPageDto;
  readonly csrfToken: string;
  /** Why the page is shown again, and the login to keep. */
  readonly retry?: { readonly message: string; readonly login?: string | undefined } | undefined;
  /** Accounts to show with their passwords; none in production. */
  readonly demo: readonly DemoAccount[];
}

/** The login page (spec §4.5.1, 1): a form that works without scripts. */
export function loginPage({ request, csrfToken, retry, demo }: LoginPage): Html {
  const { client_id, redirect_uri, state } = request;
  const action = `?${new URLSearchParams({ client_id, redirect_uri, state }).toString()}`;
  const invalid = retry && html` aria-invalid="true" aria-describedby="problem"`;
  // The cursor is in the first field that is still empty.
  const [atLogin, atPassword] = retry?.login ? [undefined, html` autofocus`] : [html` autofocus`, undefined];
  return layout(
    retry ? 'Sign-in problem' : 'Sign in',
    html`<h1>Sign in</h1>
      <p class="lead">to continue to <strong>${destinationOf(redirect_uri)}</strong></p>
      ${retry && html`<p class="problem" id="problem" role="alert">${retry.message}</p>`}
      <form method="post" action="${action}">
        <input type="hidden" name="csrf_token" value="${csrfToken}" />
        <label for="login">User name</label>
        <input
          id="login"
          name="login"
          type="text"
          value="${retry?.login}"
          required
          maxlength="255"
          autocomplete="username"
          autocapitalize="none"
          autocorrect="off"
          spellcheck="false"
          ${invalid}${atLogin}
        />
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          required
          maxlength="1024"
          autocomplete="current-password"
          ${invalid}${atPassword}
        />
        <button type="submit">Sign in</button>
      </form>
      ${demo.length > 0 ? demoBox(demo) : undefined}
      <p class="foot">Your password stays with this provider. The application only learns who you are.</p>`,
  );
}

function demoBox(accounts: readonly DemoAccount[]): Html {
  return html`<section class="demo" aria-labelledby="demo">
    <h2 id="demo"><span class="tag">Demo</span> Sign in as one of these</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">User name</th>
          <th scope="col">Password</th>
        </tr>
      </thead>
      <tbody>
        ${accounts.map(
          ({ login, password }) =>
            html`<tr>
              <td><code>${login}</code></td>
              <td><code>${password}</code></td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** Where the user will be afterwards, in a form that people know: the host, or the name of an app's own scheme. */
function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1);
}
