import type { LatchkeyError } from '../latchkey-error.js';
import type { Latchkey } from '../latchkey.js';
import type { Provider, ProviderButtonsOptions } from '../options.js';
import type { Texts } from '../texts/texts.js';
import type { Providers } from './providers.js';

/**
 * Light and dark as Google's brand rules say, for all providers alike (docs/several-providers.md). Sizes and font are CSS custom
 * properties of the page, as those of the dialog; without one the page's color scheme counts. No comments inside: the text is shipped.
 */
const STYLE = `
:host{display:grid;gap:.5rem;color-scheme:var(--latchkey-color-scheme)}
button{display:flex;gap:.75rem;align-items:center;justify-content:center;min-height:2.75rem;padding:.5rem 1rem;border:1px solid light-dark(#747775,#8e918f);border-radius:var(--latchkey-radius,14px);background:light-dark(#fff,#131314);color:light-dark(#1f1f1f,#e3e3e3);font:500 1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere;text-wrap:balance;cursor:pointer}
button:hover{background:light-dark(#f2f2f2,#2a2a2c)}
:focus-visible{outline:2px solid;outline-offset:2px}
svg{flex:none;width:1.25rem;height:1.25rem}
`;

/** Fill and path of a logo, in a square of 24. */
type Shapes = readonly (readonly [fill: string, path: string])[];

/** The logos of products whose brand rules allow them on a button of an application; by label, which is the preset's. */
const LOGOS = new Map<string, Shapes>([
  [
    'google',
    [
      [
        '#4285f4',
        'M22.56 12.25c0-.78-.07-1.53-.2-2.25H12v4.26h5.92a5.06 5.06 0 0 1-2.2 3.32v2.77h3.57c2.08-1.92 3.27-4.74 3.27-8.1z',
      ],
      [
        '#34a853',
        'M12 23c2.97 0 5.46-.98 7.28-2.66l-3.57-2.77a6.6 6.6 0 0 1-3.71 1.06c-2.86 0-5.29-1.93-6.16-4.53H2.18v2.84A11 11 0 0 0 12 23z',
      ],
      [
        '#fbbc05',
        'M5.84 14.09A6.6 6.6 0 0 1 5.49 12c0-.73.13-1.43.35-2.09V7.07H2.18a11 11 0 0 0 0 9.86l3.66-2.84z',
      ],
      [
        '#ea4335',
        'M12 5.38c1.62 0 3.06.56 4.21 1.64l3.15-3.15C17.45 2.09 14.97 1 12 1A11 11 0 0 0 2.18 7.07l3.66 2.84C6.71 7.31 9.14 5.38 12 5.38z',
      ],
    ],
  ],
  [
    'github',
    [
      [
        'currentColor',
        'M12 .3a12 12 0 0 0-3.8 23.38c.6.12.83-.26.83-.57L9 21.07c-3.34.72-4.04-1.61-4.04-1.61-.55-1.39-1.34-1.76-1.34-1.76-1.08-.74.09-.73.09-.73 1.2.09 1.84 1.24 1.84 1.24 1.07 1.83 2.8 1.3 3.49 1 .1-.78.42-1.31.76-1.61-2.67-.3-5.47-1.33-5.47-5.93 0-1.31.47-2.38 1.24-3.22-.14-.3-.54-1.52.1-3.18 0 0 1-.32 3.3 1.23a11.5 11.5 0 0 1 6 0c2.28-1.55 3.29-1.23 3.29-1.23.64 1.66.24 2.88.12 3.18a4.65 4.65 0 0 1 1.23 3.22c0 4.61-2.81 5.63-5.48 5.92.42.36.81 1.1.81 2.22l-.01 3.29c0 .31.2.69.82.57A12 12 0 0 0 12 .3',
      ],
    ],
  ],
  [
    'microsoft',
    [
      ['#f25022', 'M1 1h10.4v10.4H1z'],
      ['#7fba00', 'M12.6 1H23v10.4H12.6z'],
      ['#00a4ef', 'M1 12.6h10.4V23H1z'],
      ['#ffb900', 'M12.6 12.6H23V23H12.6z'],
    ],
  ],
]);

/**
 * Makes a button for each provider, in a shadow root, which keeps the page's styles out; every Content Security Policy allows its
 * constructed style sheet.
 * @param list empty if the providers are unknown: then there is one button
 * @param onChoose gets the name of the provider
 */
export function makeButtons(
  list: readonly Provider[],
  texts: Texts,
  onChoose: (provider?: string) => void,
): HTMLElement {
  const host = document.createElement('div');
  const shadow = host.attachShadow({ mode: 'open', delegatesFocus: true });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  const add = (text: string, shapes: Shapes = [], name?: string): void => {
    const button = document.createElement('button');
    button.type = 'button';
    button.dir = 'auto'; // the logo is where the text begins
    button.addEventListener('click', () => onChoose(name));
    button.part.add('provider');
    if (shapes.length) button.append(makeLogo(shapes));
    button.append(text);
    shadow.append(button);
  };
  for (const { name, label } of list)
    add(
      texts.continueWith.replace('{provider}', () => label),
      LOGOS.get(label.toLowerCase()),
      name,
    );
  if (!list.length) add(texts.signIn);
  return host;
}

/** Implements `showProviders`. If addresses choose the provider, its button asks for one. @param signal aborted if a later call shows something in the element @param options are read at each click */
export async function showButtons(
  place: Element,
  signal: AbortSignal,
  { providers, listByEmail }: Providers,
  texts: Texts,
  signIn: Latchkey['signIn'],
  options: ProviderButtonsOptions,
): Promise<void> {
  const all = await providers().catch(() => []);
  const list = listByEmail() && all.length > 1 ? [] : all;
  const onChoose = (provider?: string): void => {
    const { onError, ...signInOptions } = options;
    signIn({ ...signInOptions, provider }).catch((error: LatchkeyError) => {
      if (error.code !== 'cancelled') onError?.(error);
    });
  };
  if (!signal.aborted) place.replaceChildren(makeButtons(list, texts, onChoose));
}

function makeLogo(shapes: Shapes): SVGElement {
  const make = (name: string, attributes: object): SVGElement => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return element;
  };
  const logo = make('svg', { viewBox: '0 0 24 24', 'aria-hidden': true });
  logo.append(...shapes.map(([fill, d]) => make('path', { fill, d })));
  return logo;
}
