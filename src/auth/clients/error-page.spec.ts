import { OAuthError, type ErrorCode } from '../../errors/oauth-error.js';
import { errorPage } from './error-page.js';

/** For a person whose browser must not be sent back (contract §3; RFC 6749 §4.1.2.1). */
describe('the page of an error', () => {
  const page = (error: ErrorCode): string => errorPage(new OAuthError(error, 'the <reason> & more')).text;

  // To begin again at once would end in the same way.
  it.each<ErrorCode>(['server_error', 'slow_down'])('asks to wait after %s, and says no reason', (error) => {
    const text = page(error);
    expect(text).toContain('try again in a moment');
    expect(text).toContain('<h1>Sign-in is not possible right now</h1>');
    expect(text).not.toContain('&lt;reason&gt;');
    expect(text).not.toContain('developers');
  });

  it.each<ErrorCode>(['invalid_request', 'invalid_grant', 'payload_too_large'])(
    'asks to begin again after %s, and tells developers why',
    (error) => {
      const text = page(error);
      expect(text).toContain('begin');
      expect(text).toContain('<h1>This sign-in cannot go on</h1>');
      expect(text).toContain('<code>the &lt;reason&gt; &amp; more</code>');
      expect(text).not.toContain('in a moment');
    },
  );

  it.each([
    ['redirect_uri is required', 'Add this parameter to the address of this page.'],
    ['client_id is required', 'Add this parameter to the address of this page.'],
    [
      'client_id must be text of at most 255 characters',
      'Correct this parameter in the address of this page.',
    ],
    ['redirect_uri is not on the allow-list', 'Add it to REDIRECT_URIS in the settings of the service.'],
  ])('says what to do about a wrong request: %s', (description, cure) => {
    const { text } = errorPage(new OAuthError('invalid_request', description));
    expect(text).toContain(`<code>${description}</code>. ${cure}`);
    expect(text).toContain('not complete or not allowed');
    expect(text).not.toMatch(/finished already|taken too long/);
  });

  it('says that a sign-in may be over only where it may be', () => {
    expect(page('invalid_grant')).toMatch(/finished already.*taken too long/);
    expect(page('payload_too_large')).not.toContain('finished already');
  });

  it.each<ErrorCode>(['server_error', 'invalid_grant'])('has a title and says whose it is: %s', (error) => {
    expect(page(error)).toContain('<title>Sign-in is not possible</title>');
    expect(page(error)).toMatch(/class="brand">.*Sign in<\/p>/s);
  });
});
