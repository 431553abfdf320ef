import { createRequire } from 'node:module';
import { bundle, Pages } from './bundle.js';

/** A client, and components that show everything that the hooks say. `listeners` mount and unmount by buttons. */
const app = (service: string): string => `
import { StrictMode, useState } from 'react';
import { createClient } from '@latchkey/client';
import {
  LatchkeyProvider, SignedIn, SignedOut, SignInButton, useChannel, useLatchkey, useSession,
} from '@latchkey/client/react';

export const latchkey = createClient({
  url: '${service}', provider: 'mock', redirectUri: '/callback', askAgain: false,
});
if (globalThis.window) Object.assign(window, { latchkey, errors: [] });

function Who() {
  const session = useSession();
  return <p id="who">{session ? session.userId + ' until ' + session.expiresAt : String(session)}</p>;
}

function Listener({ name }) {
  const [heard, setHeard] = useState('');
  // With a handler of an earlier rendering, 'heard' would be the empty text again.
  const isLive = useChannel('note', (data) => setHeard(heard + data + ' '));
  return <p className="listener">{isLive ? 'live' : 'away'} {name}: {heard}</p>;
}

function Listeners() {
  const [count, setCount] = useState(2);
  return (
    <>
      <button onClick={() => setCount(count - 1)}>fewer</button>
      <button onClick={() => setCount(count + 1)}>more</button>
      {['one', 'two'].slice(0, count).map((name) => <Listener key={name} name={name} />)}
    </>
  );
}

export function App() {
  return (
    <StrictMode>
      <LatchkeyProvider client={latchkey}>
        <Who />
        <SignedIn>Welcome</SignedIn>
        <SignedOut>
          <SignInButton className="in" onError={({ code }) => errors.push(code)}>Enter</SignInButton>
          <SignInButton onClick={(event) => event.preventDefault()}>Never</SignInButton>
        </SignedOut>
        <Listeners />
      </LatchkeyProvider>
    </StrictMode>
  );
}

export function Lonely() {
  useLatchkey();
}
`;
const BROWSER = `
import { createRoot, hydrateRoot } from 'react-dom/client';
import { App, latchkey } from './app.js';
const root = document.getElementById('root');
if (location.pathname === '/callback') latchkey.handleCallback().catch(() => {}); // tests open it by itself, too
else if (root.firstChild) hydrateRoot(root, <App />, { onRecoverableError: (error) => console.error(error) });
else createRoot(root).render(<App />);
`;
const SERVER = `
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { LatchkeyProvider } from '@latchkey/client/react';
import { App, Lonely } from './app.js';
export const html = renderToString(<App />);
export const failures = [<Lonely />, <LatchkeyProvider />].map((element) => {
  try {
    return renderToString(element);
  } catch ({ message }) {
    return message;
  }
});
`;

/** The application with one major version of React: at `/`, and at `/hydrated` with the HTML of a server. */
export interface ReactApp {
  readonly pages: Pages;
  /** What the server has rendered. */
  readonly html: string;
  /** What rendering says without a provider, and to a provider without a client. */
  readonly failures: readonly string[];
}

export async function startReactApp(version: 18 | 19, service: string): Promise<ReactApp> {
  const alias: Record<string, string> =
    version === 18 ? { react: 'react-18', 'react-dom': 'react-dom-18' } : {};
  const browser = await bundle({ 'main.jsx': BROWSER, 'app.jsx': app(service) }, { alias });
  const server = await bundle(
    { 'server.jsx': SERVER, 'app.jsx': app(service) },
    { alias, platform: 'node', format: 'cjs' },
  );
  const module = { exports: {} as Pick<ReactApp, 'html' | 'failures'> };
  // oxlint-disable-next-line typescript/no-implied-eval -- a module that is only a text
  new Function('require', 'module', server)(createRequire(import.meta.url), module);
  const { html, failures } = module.exports;
  const pages = await Pages.start();
  for (const path of ['/', '/callback']) pages.put(path, browser);
  pages.put('/hydrated', browser, html);
  return { pages, html, failures };
}
