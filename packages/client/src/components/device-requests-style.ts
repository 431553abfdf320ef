/** Colours and sizes are CSS custom properties of the page, as those of the dialog. No comments inside: the text is shipped. */
export const STYLE = `
:host{display:block;color-scheme:var(--latchkey-color-scheme);--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));--danger:var(--latchkey-danger,light-dark(#a8201a,#ffb3ad));--radius:min(var(--latchkey-radius,14px),10px);color:var(--latchkey-text,inherit);font:1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere}
[hidden],form[hidden]+.hint{display:none!important}
*{box-sizing:border-box}
ul,p{margin:0;padding:0;list-style:none}
li{margin-bottom:1rem;padding:1rem;border:1px solid #8886;border-radius:var(--radius)}
li p,.hint{margin-top:.25rem;font-size:.875rem;opacity:.85}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.75rem}
label{display:grid;flex:1 0 100%;gap:.25rem;font-size:.875rem}
input,button{min-height:2.75rem;padding:.25rem .875rem;border:1px solid #8888;border-radius:var(--radius);background:0;color:inherit;font:inherit}
button{flex:1 1 7rem;font-weight:600;cursor:pointer}
.main{border-color:#0000;background:var(--accent);color:var(--latchkey-accent-text,light-dark(#fff,#12163f))}
.problem{color:var(--danger)}
.problem:not(:empty),[role=status]:not(:empty){margin-top:.75rem}
[aria-busy=true] button{opacity:.6;cursor:progress}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`;
