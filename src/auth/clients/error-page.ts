import type { OAuthError } from '../../errors/oauth-error.js';
import { html, type Html } from '../../http/page/html.js';
import { layout } from '../../http/page/layout.js';

const NAMES = { title: 'Sign-in is not possible', brand: 'Sign in' };

/** For a person whose browser must not be sent to the client, or whose client is not known (RFC 6749 §4.1.2.1). */
export function errorPage({ error, status, description }: OAuthError): Html {
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
      <p class="lead">${error === 'invalid_grant' ? OVER : INCORRECT}</p>
      <p class="reason">For its developers: <code>${description}</code>. ${cureFor(description)}</p>`,
  );
}

const OVER =
  'It may have been finished already, or have taken too long. Please go back to the application and begin again.';
const INCORRECT =
  'The application asked for it in a way that is not complete or not allowed. If you begin again and come back here, please tell its developers.';

/** What to do about a fault of the request, whose parameters are in the address of the page. */
function cureFor(description: string): string {
  if (/^\w+ is required$/.test(description)) return 'Add this parameter to the address of this page.';
  if (description.endsWith('allow-list')) return 'Add it to REDIRECT_URIS in the settings of the service.';
  if (/^\w+ must be /.test(description)) return 'Correct this parameter in the address of this page.';
  return '';
}
