import { LatchkeyProvider } from '@latchkey/client/react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { latchkey } from './client.js';

createRoot(document.getElementById('root')!).render(
  <LatchkeyProvider client={latchkey}>
    <App />
  </LatchkeyProvider>,
);
