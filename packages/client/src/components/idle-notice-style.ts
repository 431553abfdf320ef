/** Colours and sizes are CSS custom properties of the page, as those of the dialog. No comments inside: the text is shipped. */
export const STYLE = `
:host{color-scheme:var(--latchkey-color-scheme);--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));--radius:var(--latchkey-radius,14px);font:1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere}
*{box-sizing:border-box}
dialog{width:min(27rem,100vw - 1rem);max-width:none;max-height:calc(100dvh - 1rem);padding:1.25rem;overflow:auto;border:1px solid #8886;border-radius:var(--radius);background:var(--latchkey-background,Canvas);color:var(--latchkey-text,CanvasText)}
dialog::backdrop{background:#000a}
h2,p{margin:0}
h2{font-size:1.1rem}
p{margin-top:.5rem;font-variant-numeric:tabular-nums}
.said{position:absolute;clip-path:inset(50%)}
.actions{display:flex;flex-wrap:wrap;gap:.5rem;justify-content:end;margin-top:1.25rem}
button{min-height:2.75rem;padding:.5rem 1rem;border:1px solid #8888;border-radius:min(var(--radius),10px);background:0;color:inherit;font:inherit;font-weight:600;cursor:pointer}
.main{border-color:#0000;background:var(--accent);color:var(--latchkey-accent-text,light-dark(#fff,#12163f))}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`;
