/** Colours and sizes are CSS custom properties of the page, as those of the dialog. No comments inside: the text is shipped. */
export const STYLE = `
:host{display:inline-block;color-scheme:var(--latchkey-color-scheme);--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));--danger:var(--latchkey-danger,light-dark(#a8201a,#ffb3ad));--radius:var(--latchkey-radius,14px);font:1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere}
[hidden]{display:none!important}
*{box-sizing:border-box}
p,h2{margin:0}
button{min-height:2.75rem;padding:.5rem .75rem;border:0;border-radius:min(var(--radius),10px);background:0;color:inherit;font:inherit;cursor:pointer}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.opener{display:flex;gap:.375rem;align-items:center;padding:.25rem;border-radius:99px;color:var(--latchkey-text,inherit)}
svg{width:1rem;height:1rem;fill:none;stroke:currentColor;stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}
.avatar{position:relative;flex:none;display:grid;place-items:center;width:2.25rem;height:2.25rem;border-radius:50%;overflow:hidden;background:var(--accent);color:var(--latchkey-accent-text,light-dark(#fff,#12163f));font-size:.875rem;font-weight:600;line-height:1}
.avatar::before{content:attr(data-initials)}
img{position:absolute;inset:0;width:100%;height:100%;object-fit:cover}
[popover]:popover-open,dialog[open]{border:1px solid #8886;border-radius:var(--radius);background:var(--latchkey-background,Canvas);color:var(--latchkey-text,CanvasText)}
[popover]:popover-open{position:absolute;inset:auto;display:grid;width:min(18rem,100vw - 1rem);margin:0;padding:.5rem;box-shadow:0 1rem 2.5rem -.75rem #0008}
[popover] button{text-align:start}
[popover] button:hover{background:#8882}
.who{display:flex;gap:.75rem;align-items:center;padding:.5rem .75rem .75rem}
.who p{min-width:0}
.who p>*{display:block}
.who p span{font-size:.875rem;opacity:.8}
.danger{color:var(--danger)}
dialog{width:min(40rem,100vw - 1rem);max-width:none;max-height:calc(100dvh - 1rem);padding:0 1.25rem 1.25rem;overflow:auto;overscroll-behavior:contain}
dialog[role=alertdialog]{width:min(27rem,100vw - 1rem)}
dialog::backdrop{background:#000a}
header{position:sticky;top:0;z-index:1;display:flex;gap:1rem;justify-content:space-between;align-items:center;min-height:3.5rem;background:inherit}
h2{font-size:1.1rem}
.close{flex:none;width:2.75rem;padding:0;margin-inline-end:-.75rem}
.content{min-height:4rem}
.actions{display:flex;flex-wrap:wrap;gap:.5rem;justify-content:end;margin-top:1.25rem}
.actions button{border:1px solid #8888;font-weight:600}
`;
