/** What the example reads of the environment: Vite replaces it. */
interface ImportMeta {
  readonly env: { readonly VITE_LATCHKEY_URL?: string };
}
