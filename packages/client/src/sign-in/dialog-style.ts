/** Colours and sizes are CSS custom properties of the page (docs/frontend.md). No comments inside: the text is shipped. */
export const STYLE = `
dialog{
color-scheme:var(--latchkey-color-scheme);
--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));
--background:var(--latchkey-background,Canvas);
--radius:var(--latchkey-radius,14px);
width:min(var(--latchkey-width,27rem),100vw - 1rem);
max-width:none;
max-height:calc(100dvh - 1rem);
box-sizing:border-box;
padding:0;
overflow:auto;
overscroll-behavior:contain;
border:1px solid #8886;
border-radius:var(--radius);
background:var(--background);
color:var(--latchkey-text,CanvasText);
font:1rem/1.5 var(--latchkey-font,system-ui);
overflow-wrap:break-word
}
dialog:focus{outline:0}
::backdrop{background:#000a}
header{position:sticky;top:0;z-index:1;display:flex;gap:1rem;justify-content:space-between;align-items:center;padding:.4rem;padding-inline-start:20px;background:inherit}
h2{margin:0;font-size:1.1rem;min-width:0}
.frame h2{font-size:.85rem;font-weight:400;opacity:.8}
section{padding:0 20px 20px}
.frame section,.wait section{padding:0}
p{margin:0 0 1rem}
dialog>p{margin:0 20px 1rem}
[role=alert]{color:var(--latchkey-danger,inherit)}
p:empty{display:none}
button{font:inherit;border:1px solid #0000;border-radius:var(--radius);min-height:2.75rem;padding:.5rem 1rem;background:0;color:var(--accent);cursor:pointer}
:focus-visible{outline:2px solid;outline-offset:-4px}
header button{flex:none;width:2.75rem;padding:0;color:inherit}
section>button{display:block;width:100%;margin-top:.5rem}
.main{background:var(--accent);color:var(--latchkey-accent-text,light-dark(#fff,#12163f))}
.box{display:grid;overflow:hidden;height:max(16rem,min(var(--latchkey-height,34rem),100dvh - 8rem))}
.low{height:7.5rem}
.box>*{grid-area:1/1;width:100%;height:100%;border:0}
.box i{box-sizing:border-box;height:17rem;padding:0 20px;
background:
linear-gradient(#8884 0 0) 0 1rem/45% 1.75rem,
linear-gradient(#8884 0 0) 0 4.5rem/100% 2.75rem,
linear-gradient(#8884 0 0) 0 9rem/100% 2.75rem,
linear-gradient(#8884 0 0) 0 13.5rem/100% 2.75rem;
background-repeat:no-repeat;background-origin:content-box;background-clip:content-box}
.box i:dir(rtl){transform:scaleX(-1)}
footer{padding:0 20px;text-align:center}
footer p{display:inline}
@media (min-height:30rem){footer{position:sticky;bottom:0;background:var(--background)}}
@media (prefers-reduced-motion:no-preference){
.box{transition:height .15s}
.box i{animation:wait 1.2s infinite alternate}
@keyframes wait{to{opacity:.4}}
}
@media not (forced-colors:active){
.wait [role=status]{position:absolute;clip-path:inset(50%)}
}
`;
