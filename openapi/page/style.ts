/** Light and dark, from 320 px on, system fonts, nothing loaded. */
export const style = `
:root {
  color-scheme: light dark;
  --page: #fff; --side: #f4f5f8; --ink: #171a21; --soft: #566070; --line: #d9dde5; --code: #eef0f5; --accent: #3a48d4;
  --get: #0b6b3a; --post: #2d39b4; --patch: #8a4a00; --delete: #a8201a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1115; --side: #171a20; --ink: #eceef2; --soft: #a3abba; --line: #2b303a; --code: #1d212a; --accent: #aab3ff;
    --get: #7fdca4; --post: #aab3ff; --patch: #f5c078; --delete: #ffb3ad;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { scroll-padding-top: 16px; }
body {
  margin: 0; background: var(--page); color: var(--ink); display: grid; grid-template-columns: 300px minmax(0, 1fr);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; -webkit-text-size-adjust: 100%;
}
nav {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 20px 16px; background: var(--side);
  border-right: 1px solid var(--line); font-size: 14px;
}
nav h2 { margin: 20px 0 4px; padding: 0 8px; font-size: 13px; font-weight: 600; color: var(--soft); border: 0; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a { display: block; padding: 4px 8px 4px 58px; text-indent: -50px; border-radius: 6px; color: var(--ink); text-decoration: none; overflow-wrap: anywhere; }
nav .plain a { padding-left: 8px; text-indent: 0; }
nav li a:hover { background: var(--code); text-decoration: underline; }
.name { margin: 0; padding: 0 8px; font-weight: 650; }
.name a { color: inherit; text-decoration: none; }
.name span { color: var(--soft); font-weight: 400; }
main { max-width: 860px; padding: 40px 48px 96px; }
h1 { margin: 0; font-size: 30px; line-height: 1.2; letter-spacing: -.02em; }
main > h2 { margin: 64px 0 0; padding-top: 24px; border-top: 1px solid var(--line); font-size: 24px; letter-spacing: -.01em; }
h3 { margin: 0; font-size: 19px; }
h4 { margin: 20px 0 4px; font-size: 14px; font-weight: 600; }
p { margin: 12px 0; }
a { color: var(--accent); text-underline-offset: 2px; }
.call { margin-top: 40px; }
.address { margin: 4px 0 0; overflow-wrap: anywhere; }
.address code { background: none; padding: 0; font-size: 15px; }
.who { margin: 4px 0 0; color: var(--soft); font-size: 15px; }
.method { font: 600 12px/1 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
nav .method { display: inline-block; width: 50px; text-indent: 0; font-size: 11px; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
code, pre { font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
code { padding: 1px 4px; border-radius: 4px; background: var(--code); overflow-wrap: anywhere; }
pre { margin: 4px 0 0; padding: 12px 14px; border-radius: 8px; background: var(--code); overflow-x: auto; }
figure { margin: 12px 0 0; }
figcaption { color: var(--soft); font-size: 14px; }
.members { margin: 4px 0 0; }
.members > div { padding: 8px 0; border-top: 1px solid var(--line); }
.members dt code { background: none; padding: 0; font-weight: 600; }
.members dd { margin: 0; font-size: 15px; }
.kind, .or { color: var(--soft); font-size: 14px; }
.or { margin: 8px 0; }
.errors { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0; padding: 0; list-style: none; font-size: 14px; }
.errors code { background: none; padding: 0; }
.errors a { display: inline-block; padding: 3px 0; }
:target { scroll-margin-top: 16px; }
div:target { background: var(--code); }
.skip { position: absolute; left: -999px; top: 8px; padding: 8px 12px; background: var(--page); z-index: 1; }
.skip:focus { left: 8px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 820px) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 28px 16px 64px; }
}
@media print { nav, .skip { display: none; } body { display: block; } }
`;
