/** Style of the provider's pages, beside that of all pages. */
export const style = `
.secret { position: relative; }
.secret input:not([type=hidden]) { padding-right: 48px; }
.show {
  position: absolute; top: 0; right: 0; display: grid; place-items: center; width: 46px; min-height: 0; height: 100%; margin: 0; padding: 0;
  color: var(--soft); background: none;
}
.show:hover { color: var(--accent); background: none; }
.show[aria-pressed=true] { color: var(--accent); }
.show:not([aria-pressed=true]) .slash { display: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.demo { margin-top: 20px; padding: 14px 16px; border-radius: 12px; background: var(--tint); font-size: 14px; }
#demo { display: flex; align-items: center; gap: 8px; font-weight: 550; }
.accounts { display: grid; grid-template-columns: repeat(auto-fit, minmax(76px, 1fr)); gap: 8px; margin-top: 10px; }
.accounts button { min-height: 40px; margin: 0; padding: 4px 8px; font-size: 15px; color: var(--accent); background: var(--card); border-color: var(--field); }
.accounts button:hover { color: var(--on-accent); background: var(--accent); }
summary { width: fit-content; margin-top: 10px; color: var(--soft); font-size: 13px; border-radius: 4px; cursor: pointer; }
details p { display: grid; grid-template-columns: 5em 1fr; padding-top: 4px; }
details code { user-select: all; -webkit-user-select: all; }
@media (max-width: 460px) and (max-height: 640px) {
  .demo { margin-top: 14px; }
}
`;
