import { ERROR_STATUS } from '../../errors/oauth-error.js';
import { OAuthErrorFilter } from '../../http/errors/oauth-error.filter.js';
import { html, type Html } from '../../http/page/html.js';
import { layout, sendPage } from './page.js';

const FAILURE_PAGE = layout(
  'Something went wrong',
  html`<h1>Something went wrong</h1>
    <p class="lead">This is our fault, not yours. Please go back and try again in a moment.</p>`,
);

/** Answers every error of the authorization page with a page, never with a redirect. */
export const PAGE_ERROR_FILTER = new OAuthErrorFilter(ERROR_STATUS, (error, _request, response) => {
  const content = error.status < 500 ? invalidRequestPage(error.description) : FAILURE_PAGE;
  sendPage(response, error.status, content);
  return true;
});

/** Page for a request that must not be redirected (RFC 6749 §4.1.2.1). @param reason fixed text, for developers */
function invalidRequestPage(reason: string): Html {
  return layout(
    'Sign-in is not possible',
    html`<h1>This link does not work</h1>
      <p class="lead">
        The application that sent you here made a mistake in its request. Please go back to it and try again.
      </p>
      <p class="reason">For its developers: <code>${reason}</code></p>`,
  );
}
