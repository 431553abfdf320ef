import { html, type Html } from '../../http/page/html.js';
import { layout } from './layout.js';

/** For a request that must not be redirected (RFC 6749 §4.1.2.1). @param reason fixed text, for the application's developers */
export function invalidRequestPage(reason: string): Html {
  return layout(
    'Sign-in is not possible',
    html`<h1>This link does not work</h1>
      <p class="lead">
        The application that sent you here made a mistake in its request. Please go back to it and try again.
      </p>
      <p class="reason">For its developers: <code>${reason}</code></p>`,
  );
}

/** For an error of the provider itself. */
export function failurePage(): Html {
  return layout(
    'Something went wrong',
    html`<h1>Something went wrong</h1>
      <p class="lead">This is our fault, not yours. Please go back and try again in a moment.</p>`,
  );
}
