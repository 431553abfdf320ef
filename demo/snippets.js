// "Put this into your app": code for this service, for the framework of the reader.
import { provider } from './client.js';
import { explain, notice } from './notice.js';

const element = (id) => document.getElementById(id);

const client = (url, provider) => `export const latchkey = createClient({
  url: '${url}',
  provider: '${provider}',
  redirectUri: '/callback',
});`;

const CALLBACK = `if (location.pathname === '/callback') latchkey.handleCallback();`;

/** For each value of the select box: the guide, imports beside `createClient`, and the code that follows the client. */
const FRAMEWORKS = {
  plain: {
    guide: 'docs/guides/plain.md',
    imports: [],
    code: `${CALLBACK}
document.querySelector('#sign-in').onclick = () => latchkey.signIn();
const response = await latchkey.fetch('/api/orders'); // adds the access token`,
  },
  react: {
    guide: 'docs/guides/react.md',
    imports: [
      `import { LatchkeyProvider, SignedIn, SignedOut, SignInButton } from '@latchkey/client/react';`,
    ],
    code: `${CALLBACK}

export const App = () => (
  <LatchkeyProvider client={latchkey}>
    <SignedIn>You are signed in</SignedIn>
    <SignedOut>
      <SignInButton />
    </SignedOut>
  </LatchkeyProvider>
);`,
  },
  next: {
    guide: 'docs/guides/nextjs.md',
    imports: [`import { LatchkeyProvider } from '@latchkey/client/react';`],
    code: `export const Providers = ({ children }) => (
  <LatchkeyProvider client={latchkey}>{children}</LatchkeyProvider>
);
// app/callback/page.tsx calls latchkey.handleCallback() in an effect`,
  },
  vue: {
    guide: 'docs/guides/vue.md',
    imports: [`import { shallowRef } from 'vue';`],
    code: `const session = shallowRef(latchkey.session);
latchkey.on('change', (next) => (session.value = next));
export const useSession = () => session;

${CALLBACK}`,
  },
};

function show() {
  const framework = element('framework').value;
  const { guide, imports, code } = FRAMEWORKS[framework];
  const url = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const head = framework === 'next' ? [`'use client'; // app/providers.tsx`] : [];
  const lines = [
    ...head,
    `import { createClient } from '@latchkey/client';`,
    ...imports,
    '',
    client(url, provider),
  ];
  element('snippet').textContent = [...lines, '', code].join('\n');
  element('guide').textContent = guide;
}

element('framework').addEventListener('change', show);
element('copy-snippet').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(element('snippet').textContent);
    notice('The code is on the clipboard.');
  } catch (error) {
    explain(error);
  }
});
show();
