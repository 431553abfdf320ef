import type { DemoAccount } from '../accounts/accounts.js';
import type { AuthorizationPageDto } from '../authorize.dto.js';
import { html, type Html } from '../../../platform/http/page/html.js';
import { destinationOf, type Page } from '../../../platform/http/page/layout.js';
import { layout } from './page.js';

export interface LoginPage {
  readonly request: AuthorizationPageDto;
  readonly csrfToken: string;
  /** Reason why the page is shown again, and the login to keep. */
  readonly retry?: { readonly message: string; readonly login?: string | undefined } | undefined;
  /** Accounts that are shown with their passwords; none in production. */
  readonly demo: readonly DemoAccount[];
}

const EYE = html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
  <path d="M2.5 12C4.6 8 8 5.8 12 5.8s7.4 2.2 9.5 6.2c-2.1 4-5.5 6.2-9.5 6.2S4.6 16 2.5 12Z" />
  <circle cx="12" cy="12" r="2.8" />
  <path class="slash" d="m4.5 4.5 15 15" />
</svg>`;

/** Login page (spec §4.5.1, 1), which works without scripts. */
export function loginPage({ request, csrfToken, retry, demo }: LoginPage): Page {
  const { client_id, redirect_uri, state, code_challenge, code_challenge_method } = request;
  const pkce = code_challenge && code_challenge_method ? { code_challenge, code_challenge_method } : {};
  const action = `?${new URLSearchParams({ client_id, redirect_uri, state, ...pkce }).toString()}`;
  const invalid = retry && html` aria-invalid="true" aria-describedby="problem"`;
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
          ${invalid}
        />
        <label for="password">Password</label>
        <div class="secret">
          <input
            id="password"
            name="password"
            type="password"
            required
            maxlength="1024"
            autocomplete="current-password"
            ${invalid}
          />
          <button id="show" class="show" type="button" aria-controls="password" aria-pressed="false" hidden>
            ${EYE}<span class="unseen">Show password</span>
          </button>
        </div>
        <button id="submit" type="submit">Sign in</button>
        ${demo.length > 0 ? demoBox(demo) : undefined}
      </form>
      <p class="foot">Your password stays with this provider. The application only learns who you are.</p>`,
  );
}

/** Buttons that sign in with one click; after the form's own button, which Enter activates. */
function demoBox(accounts: readonly DemoAccount[]): Html {
  return html`<div class="demo" role="group" aria-labelledby="demo">
    <p id="demo"><span class="tag">Demo</span> Sign in as</p>
    <div class="accounts">
      ${accounts.map(
        ({ login, username = login }) =>
          html`<button name="demo" value="${login}" formnovalidate aria-describedby="demo">
            ${username.split(' ')[0]}
          </button>`,
      )}
    </div>
    <details>
      <summary>Names and passwords</summary>
      ${accounts.map(({ login, password }) => html`<p><code>${login}</code> <code>${password}</code></p>`)}
    </details>
  </div>`;
}
