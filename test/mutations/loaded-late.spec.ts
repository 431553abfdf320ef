/** Loads a source while its tests run, as starting a service does: mutations.spec.ts looks whether mutants of that are noticed. */
describe('a source that is loaded late', () => {
  let text: string;
  beforeAll(async () => void ({ NEEDED_NO_MORE: text } = await import('../../src/token/session.sql.js')));

  // The first ones judge nothing: a mutant has to be tried on all.
  it.each([1, 2, 3, 4])('is there (%i)', () => expect(typeof text).toBe('string'));

  it('has what it made of its parts when it was loaded', () => {
    expect(text).toMatch(/^expires_at < .* AND \(signed_out_at IS NULL OR .* AND NOT EXISTS \(/s);
  });
});
