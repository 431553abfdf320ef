/** Colours and sizes are CSS custom properties of the page, as those of the dialog. No comments inside: the text is shipped. */
export const STYLE = `
:host{display:block;container-type:inline-size;color-scheme:var(--latchkey-color-scheme);--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));--danger:var(--latchkey-danger,light-dark(#a8201a,#ffb3ad));--radius:min(var(--latchkey-radius,14px),10px);color:var(--latchkey-text,inherit);font:1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere}
[hidden]{display:none!important}
*{box-sizing:border-box}
ul,p,h2{margin:0;padding:0;list-style:none}
li{display:flex;flex-wrap:wrap;gap:.25rem .875rem;align-items:center;padding:.75rem 0;border-bottom:1px solid #8886}
li div{flex:1 1 12rem;min-width:0}
strong,h2,button{font-weight:600}
p:not(:first-child),[role=status]{font-size:.875rem;opacity:.8}
.tag{margin-inline-start:.5rem;padding:.125rem .5rem;border-radius:99px;background:color-mix(in srgb,var(--accent) 12%,#0000);color:var(--accent);font-size:.75rem;font-weight:600;white-space:nowrap}
.add:not(:empty),[role=status]:not(:empty),.trouble{padding-top:.75rem}
.add,.actions,.trouble{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
button{min-height:2.75rem;padding:.25rem .875rem;border:1px solid #8888;border-radius:var(--radius);background:0;color:inherit;font:inherit;font-size:.875rem;font-weight:600;cursor:pointer}
button:hover{border-color:currentColor}
.danger,.trouble{color:var(--danger)}
[aria-busy=true]{opacity:.6;cursor:progress}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
dialog{width:min(27rem,100vw - 1rem);max-width:none;max-height:calc(100dvh - 1rem);padding:1.25rem;border:1px solid #8886;border-radius:var(--latchkey-radius,14px);background:var(--latchkey-background,Canvas);color:var(--latchkey-text,CanvasText);overflow:auto;overscroll-behavior:contain}
dialog::backdrop{background:#000a}
h2{font-size:1.1rem}
h2+p{margin-top:.75rem}
.actions{justify-content:end;margin-top:1.25rem}
@container (width<28rem){
.add button{flex:1 1 100%}
}
`;
