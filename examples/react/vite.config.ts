import react from '@vitejs/plugin-react';
import { defineConfig, type PreviewServer, type ViteDevServer } from 'vite';

// The API runs in Vite's server, so that `npm run dev` is one command. Otherwise: `api.listen(3001)`.
async function serveApi({ middlewares }: ViteDevServer | PreviewServer): Promise<void> {
  const { api } = await import('./api.ts');
  middlewares.use(api);
}

export default defineConfig({
  resolve: { dedupe: ['react', 'react-dom'] }, // the linked client would find the repository's
  plugins: [react(), { name: 'api', configureServer: serveApi, configurePreviewServer: serveApi }],
});
