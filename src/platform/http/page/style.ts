/** Style of the service's pages: light and dark, from 320 px, system fonts. */
export const style = `
:root {
  color-scheme: light dark;
  --page: #f4f5f8; --card: #fff; --ink: #171a21; --soft: #5a6271; --line: #d9dde5; --field: #868e9c;
  --accent: #3a48d4; --accent-deep: #2d39b4; --on-accent: #fff; --tint: #eef0fe;
  --bad: #a8201a; --bad-tint: #fdf0ef; --bad-line: #f2c9c6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1115; --card: #171a20; --ink: #eceef2; --soft: #a3abba; --line: #2b303a; --field: #6d7686;
    --accent: #aab3ff; --accent-deep: #c3c9ff; --on-accent: #12163f; --tint: #1e2236;
    --bad: #ffb3ad; --bad-tint: #331917; --bad-line: #5d2a26;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 20px;
  background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  -webkit-text-size-adjust: 100%;
}
main {
  width: 100%; max-width: 400px; padding: 32px; background: var(--card);
  border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 1px 2px rgb(16 20 40 / .05), 0 12px 32px -12px rgb(16 20 40 / .12);
}
p, h1, h2 { margin: 0; }
svg { fill: none; stroke: currentColor; stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; }
.brand { display: flex; align-items: center; gap: 10px; color: var(--soft); font-size: 14px; font-weight: 500; }
.mark { display: grid; place-items: center; width: 36px; height: 36px; border-radius: 10px; background: var(--tint); color: var(--accent); }
h1 { margin-top: 20px; font-size: 26px; line-height: 1.2; font-weight: 650; letter-spacing: -.02em; text-wrap: balance; }
.lead { margin-top: 4px; color: var(--soft); }
.lead strong { color: var(--ink); font-weight: 600; overflow-wrap: anywhere; }
.problem {
  margin-top: 16px; padding: 10px 14px; border: 1px solid var(--bad-line); border-radius: 10px;
  background: var(--bad-tint); color: var(--bad); font-size: 14px;
}
.reason { margin-top: 20px; padding-top: 16px; border-top: 1px solid var(--line); color: var(--soft); font-size: 14px; overflow-wrap: anywhere; }
form { margin-top: 20px; }
label { display: block; margin-bottom: 6px; font-size: 14px; font-weight: 550; }
input:not([type=hidden]) {
  display: block; width: 100%; height: 44px; margin-bottom: 16px; padding: 0 14px; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--field); border-radius: 10px;
}
input[aria-invalid] { border-color: var(--bad); }
button {
  display: block; width: 100%; min-height: 46px; margin-top: 20px; padding: 10px 16px; font: inherit; font-weight: 600;
  color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: 10px; cursor: pointer;
  transition: background-color .15s;
}
button:hover { background: var(--accent-deep); }
button:disabled { opacity: .65; cursor: progress; }
[hidden] { display: none !important; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
input:focus-visible { outline-offset: -1px; outline-width: 2px; border-color: var(--accent); }
.tag { padding: 1px 8px; border-radius: 99px; background: var(--accent); color: var(--on-accent); font-size: 12px; font-weight: 600; }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.choices { margin: 20px 0 0; padding: 0; list-style: none; }
.choices a {
  display: flex; align-items: center; justify-content: center; gap: 10px; min-height: 46px; margin-top: 10px; padding: 10px 16px;
  font-weight: 550; text-align: center; text-decoration: none;
  color: inherit; border: 1px solid var(--field); border-radius: 10px; overflow-wrap: anywhere; transition: background-color .15s;
}
.choices span { min-width: 0; }
.choices svg, .choices .tag { flex: none; }
.choices svg { stroke: none; }
.choices a:hover { background: var(--tint); }
.foot { margin-top: 18px; color: var(--soft); font-size: 13px; }
@media (max-width: 460px) {
  body { padding: 0; place-items: stretch; background: var(--card); }
  main { max-width: none; padding: 24px 20px; border: 0; border-radius: 0; box-shadow: none; }
}
@media (max-width: 460px) and (max-height: 640px) {
  main { padding-top: 18px; padding-bottom: 16px; }
  h1 { margin-top: 12px; font-size: 24px; }
  form { margin-top: 14px; }
  input:not([type=hidden]) { margin-bottom: 12px; height: 42px; }
  label { margin-bottom: 4px; }
  button { margin-top: 16px; }
  .foot { margin-top: 12px; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`;
