import type { OAuthError } from '../../errors/oauth-error.js';
import { html, type Html } from '../../http/page/html.js';
import { layout } from '../../http/page/layout.js';

const NAMES = { title: 'Sign-in is not possible', brand: 'Sign in' };

/** For a person whose browser must not be sent to the client, or whose client is not known (RFC 6749 §4.1.2.1). */
export function errorPage({ status, description }: OAuthError): Html {
  if (status >= 500 || status === 429) {
    return layout(
      NAMES,
      html`<h1>Sign-in is not possible right now</h1>
        <p class="lead">Please go back to the application and try again in a moment.</p>`,
    );
  }
  return layout(
    NAMES,
    html`<h1>This sign-in cannot go on</h1>
      <p class="lead">
        It may have been finished already, or have taken too long. Please go back to the application and begin
        again.
      </p>
      <p class="reason">For its developers: <code>${description}</code></p>`,
  );
}
