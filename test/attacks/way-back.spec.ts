import request from 'supertest';
import { useService } from '../support/use.js';

/**
 * The page of a failed sign-in links to the application that a cookie names. A host beside the service can
 * set that cookie, so its value is compared with REDIRECT_URIS each time.
 */
describe('a forged cookie', () => {
  const uris = ['https://app.example/cb', 'https://shop.example/cb?tenant=1', 'com.example.app:/cb'];
  const { service } = useService({ REDIRECT_URIS: uris.join() });

  async function pageFor(value: string): Promise<string> {
    const { text } = await request(service.url)
      .get(`/providers/stub/callback?code=a&state=${'0f'.repeat(32)}`)
      .set('Accept', 'text/html')
      .set('Cookie', `latchkey_return=${value}`)
      .expect(400);
    expect(text).toContain('This sign-in cannot go on');
    return text;
  }

  it.each([
    ['a script', 'javascript:alert(1)//https://app.example/cb'],
    ['data', 'data:text/html,<script>alert(1)</script>'],
    ['an app', 'com.example.app:/cb'],
    ['another host', 'https://evil.example/cb'],
    ['another path of a known host', 'https://app.example/elsewhere'],
    ['a host that begins like a known one', 'https://app.example.evil.example/cb'],
    ['a user in front of another host', 'https://app.example@evil.example/cb'],
    ['a backslash', 'https://evil.example\\@app.example/cb'],
    ['a fragment', 'https://evil.example/#https://app.example/cb'],
    ['another scheme', 'http://app.example/cb'],
    ['no scheme', '//app.example/cb'],
    ['a part of a known one', 'https://shop.example/c'],
    ['a host that is a part of a known one', 'https://shop.exampl'],
    ['markup', '"><script>alert(1)</script>'],
    ['line breaks', 'https://app.example/cb\r\nLocation: https://evil.example'],
    ['nothing', ''],
    ['a long text', `https://app.example/cb${'x'.repeat(5000)}`],
  ])('with %s makes no link', async (_what, value) => {
    for (const text of [await pageFor(encodeURIComponent(value)), await pageFor(value.replace(/\s+/g, ''))]) {
      expect(text).not.toMatch(/<a\b|<script|evil/);
    }
  });

  it.each(['%', '%zz', '%ff%fe'])('that cannot be decoded (%s) makes no link', async (value) => {
    expect(await pageFor(value)).not.toContain('<a');
  });

  it('with a known address makes one, so the test above sees what it looks for', async () => {
    expect(await pageFor('https%3A%2F%2Fapp.example%2Fcb')).toContain('<a href="https://app.example/">');
  });

  it.each(['/oauth2/authorize', '/providers/stub/callback'])(
    'with the address of the service itself (%s) makes no link',
    async (path) => {
      expect(await pageFor(encodeURIComponent(service.url + path))).not.toContain('<a');
    },
  );
});
