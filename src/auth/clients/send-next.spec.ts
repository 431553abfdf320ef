import type { Request, Response } from 'express';
import { Html } from '../../http/page/html.js';
import { refuseHead, sendNext } from './send-next.js';

describe('a browser on its way', () => {
  // RFC 9110 §9.2.1: HEAD changes nothing, and §15.5.6: who is refused is told what is allowed.
  it('comes with GET', () => {
    refuseHead({ method: 'GET' } as Request);
    expect(() => refuseHead({ method: 'HEAD' } as Request)).toThrow(
      expect.objectContaining({
        error: 'method_not_allowed',
        description: 'a sign-in needs GET',
        headers: { Allow: 'GET' },
      }) as Error,
    );
  });

  it('is sent on, or shown a page', () => {
    const sent: unknown[] = [];
    const note = (...what: unknown[]) => (sent.push(what), response);
    const response = { status: note, setHeader: note, removeHeader: note, set: note } as unknown as Response;
    expect(sendNext({ address: 'https://id.example' }, response)).toBe('');
    expect(sent).toEqual([[302], ['Location', 'https://id.example']]);
    expect(sendNext({ page: new Html('<p>') }, response)).toBe('<p>');
  });
});
