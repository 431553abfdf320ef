/**
 * Colours and sizes are CSS custom properties of the page (docs/frontend.md). `Canvas` and `CanvasText` are the
 * browser's own colours for light and dark. No comments inside: the text ships as it is.
 */
export const STYLE = `
dialog{
color-scheme:var(--latchkey-color-scheme,light dark);
--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));
--background:var(--latchkey-background,Canvas);
--radius:var(--latchkey-radius,14px);
width:min(var(--latchkey-width,27rem),100vw - 1rem);
box-sizing:border-box;
padding:1rem;
border:1px solid #8886;
border-radius:var(--radius);
background:var(--background);
color:var(--latchkey-text,CanvasText);
font:1rem/1.5 var(--latchkey-font,system-ui)
}
::backdrop{background:#000a}
.bar{display:flex;justify-content:space-between;align-items:center}
button{font:inherit;border:0;border-radius:var(--radius);padding:.6rem 1rem;background:0;color:var(--accent);cursor:pointer}
.main{background:var(--accent);color:var(--background)}
iframe{width:100%;height:min(var(--latchkey-height,34rem),100dvh - 12rem);border:0}
h2,p{margin:.3rem 0}
progress{width:100%;accent-color:var(--accent)}
[role=alert]{margin:1rem 0}
strong{color:var(--latchkey-danger,light-dark(#b3213c,#ff9cae))}
p:empty,p:empty+progress{display:none}
`;
