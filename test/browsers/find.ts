import type { Target } from './browser.js';

/** An expression of the page that finds an element, or is null as long as it is not there. */
export function find({ css, name }: Target): string {
  return `(() => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap((one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
    const named = (one) => [one.ariaLabel, one.title, one.labels?.[0]?.textContent, one.textContent].join(' ');
    return all(document).find((one) =>
      one.matches(${JSON.stringify(css)}) && one.getClientRects().length && (${name ?? '/^/'}).test(named(one))) ?? null;
  })()`;
}

/** The frame that a page shows. */
export const FRAME: Target = { css: 'iframe' };

/** The browser's button for it: the drivers' own ways back wait for a load, which a page from the cache does not have. */
export const BACK = 'void setTimeout(() => history.back())';
