/**
 * Notifies the page around the frame (docs/frontend.md), if it has the origin of the redirect URI: of Escape, which a page does not
 * receive from a frame of another site, and of the height of the content, against scroll bars.
 */
export const frameScript = `
(() => {
  const asked = new URLSearchParams(location.search).get('redirect_uri') ?? '';
  if (parent === window || !/^https?:/.test(asked) || !URL.canParse(asked)) return;
  const notify = (message) => parent.postMessage(message, new URL(asked).origin);
  addEventListener('keydown', ({ key, isComposing }) => {
    if (key === 'Escape' && !isComposing) notify({ type: 'latchkey:escape' });
  });

  // The page itself is at least as high as the frame.
  const main = document.querySelector('main');
  const observer = new ResizeObserver(() => {
    const bottom = Math.max(...[...main.children].map((part) => part.getBoundingClientRect().bottom));
    const space = parseFloat(getComputedStyle(main).paddingBottom) + 2 * parseFloat(getComputedStyle(document.body).paddingTop);
    notify({ type: 'latchkey:height', height: Math.ceil(bottom - main.getBoundingClientRect().top + space + 2) });
  });
  for (const part of [main, ...main.children]) observer.observe(part);
})();
`;
