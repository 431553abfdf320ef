/**
 * What the login page tells the application that frames it (docs/frontend.md): that Escape was pressed, of which a page around a
 * frame of another site does not learn, and how high the content is, so that nobody has to scroll in a frame. Only the origin of
 * the redirect URI is told, which the provider knows already.
 */
export const frameScript = `
(() => {
  const asked = new URLSearchParams(location.search).get('redirect_uri') ?? '';
  if (parent === window || !/^https?:/.test(asked) || !URL.canParse(asked)) return;
  const tell = (message) => parent.postMessage(message, new URL(asked).origin);
  addEventListener('keydown', ({ key, isComposing }) => {
    if (key === 'Escape' && !isComposing) tell({ type: 'latchkey:escape' });
  });

  // Of the content, not of the page, which is at least as high as the frame.
  const main = document.querySelector('main');
  const observer = new ResizeObserver(() => {
    const bottom = Math.max(...[...main.children].map((part) => part.getBoundingClientRect().bottom));
    const space = parseFloat(getComputedStyle(main).paddingBottom) + 2 * parseFloat(getComputedStyle(document.body).paddingTop);
    tell({ type: 'latchkey:height', height: Math.ceil(bottom - main.getBoundingClientRect().top + space + 2) });
  });
  for (const part of [main, ...main.children]) observer.observe(part);
})();
`;
